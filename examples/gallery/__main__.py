"""All cases of the gallery: python examples/gallery [folder for the figures]."""

from importlib import import_module

from common import folder

CASES = ("five_bar_1", "five_bar_2", "five_bar_study", "slider_crank", "ssrms", "four_bar_long", "ladder")

if __name__ == "__main__":
    for case in CASES:
        import_module(case).main(folder())
