"""Views in notebooks: what they hold, what sliders do, what is shown without the extra, and a real kernel."""

import builtins

import pytest

import dalembert as da
from dalembert import view, zoo
from dalembert.view import widget


def four_bar():
    system = zoo.four_bar().compile()
    return system, system.assemble({"A": 0.6}, v={"A": 2.0})


def turn(A=0.6):
    system, x = four_bar()
    return system.sweep({"A": [A, A + 0.1]}, x)


@pytest.fixture
def without(monkeypatch):
    """No anywidget."""
    known = builtins.__import__

    def found(name, *rest):
        if name.startswith("anywidget"):
            raise ImportError(name)
        return known(name, *rest)

    widget._widget.cache_clear()
    monkeypatch.setattr(widget, "import_module", lambda name: found(name))
    yield
    widget._widget.cache_clear()


def test_without_the_extra_it_is_the_still_picture(without):
    html = view.show(four_bar()[1])._repr_html_()
    assert "<svg" in html
    assert "dalembert[notebook]" in html


def test_everything_that_moves_has_a_page():
    pytest.importorskip("anywidget", reason="anywidget is not installed (extra `notebook`)")
    system, x = four_bar()
    for shown, part in ((zoo.four_bar(), "live"), (system, "live"), (x, "live"), (turn(), "player"),
                        (da.simulate(system, x, 0.1), "player"), (da.linearize(system, x), "player")):  # fmt: skip
        page = view.show(shown).page
        assert page.startswith("<!doctype html>")
        assert ("dalembert/player.js" in page) == (part == "player")


def test_a_slider_makes_the_view_anew_and_errors_keep_the_last_one():
    pytest.importorskip("anywidget", reason="anywidget is not installed (extra `notebook`)")
    cell = view.show(turn, sliders={"A": (0.4, 1.0)})
    assert cell.values == {"A": 0.7}
    first = cell.page
    cell.values = {"A": 0.5}
    assert cell.page != first
    second = cell.page
    cell.values = {"B": 0.5}  # the function has no such argument
    assert cell.trouble.startswith("TypeError: ")
    assert cell.page == second
    cell.values = {"A": 0.7}
    assert (cell.trouble, cell.page) == ("", first)


@pytest.mark.parametrize("bad", [{"A": (1.0, 0.0)}, {"A": (0.0, 1.0, 2.0)}, {"A": 1.0}, {"a b": (0, 1)}])
def test_bad_sliders_are_refused(bad):
    with pytest.raises(da.ArgumentError, match="slider"):
        view.show(turn, sliders=bad)


def test_sliders_without_a_function_are_refused():
    with pytest.raises(da.ArgumentError, match="function"):
        view.show(turn(), sliders={"A": (0, 1)})
    with pytest.raises(da.ArgumentError, match="shown is 3"):
        view.show(3)


def test_a_real_kernel_shows_it_and_answers_its_sliders():
    """A notebook is executed: the cell's output is the widget; a message as browsers send it makes a new page."""
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed (extra `test`)")
    for needed in ("anywidget", "ipykernel"):
        pytest.importorskip(needed, reason=f"{needed} is not installed (extra `test`)")
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed (extra `test`)")
    book = nbformat.v4.new_notebook()
    sources = (
        "import dalembert as da\n"
        "from dalembert import view, zoo\n"
        "system = zoo.four_bar().compile()\n"
        "x = system.assemble({'A': 0.6})\n"
        "cell = view.show(lambda A: system.sweep({'A': [A, A + 0.1]}, x), sliders={'A': (0.4, 1.0)})\n"
        "cell",
        "before = cell.page\n"
        "cell.comm.handle_msg({'content': {'data': {'method': 'update', 'state': {'values': {'A': 0.5}}, "
        "'buffer_paths': []}}, 'buffers': []})\n"
        "print(cell.values, cell.page != before, repr(cell.trouble))",
        "x",
    )
    book.cells = [nbformat.v4.new_code_cell(text) for text in sources]
    nbclient.NotebookClient(book, timeout=180, kernel_name="python3").execute()
    shown = book.cells[0].outputs[-1]["data"]
    assert "application/vnd.jupyter.widget-view+json" in shown
    assert book.cells[1].outputs[0]["text"].strip() == "{'A': 0.5} True ''"
    assert "<svg" in book.cells[2].outputs[0]["data"]["text/html"]
