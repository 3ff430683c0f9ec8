"""Pages of the site that are made from the source: the reference split by class, and the sentences of errors."""

import importlib.util
import re
from pathlib import Path

import pytest

import dalembert as da

ROOT = Path(__file__).parents[2]
LISTING = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")


def tool(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def reference():
    return tool("reference_pages")


def test_every_name_of_the_list_is_described_on_one_page(reference):
    listed = re.findall(r"^::: (\S+)", LISTING, re.M)
    described = re.findall(r"^::: (\S+)", "\n".join(reference.pages(LISTING).values()), re.M)
    assert sorted(described) == sorted(listed)


def test_every_class_has_a_page_and_the_overview_links_to_pages_that_exist(reference):
    pages = reference.pages(LISTING)
    assert "reference/results/Run.md" in pages
    assert "::: dalembert.Run\n" in pages["reference/results/Run.md"]
    for where, text in {"reference.md": reference.overview(LISTING), **pages}.items():
        for target in re.findall(r"\]\(([^)#]+\.md)", text):
            place = (Path("/") / Path(where).parent / target).as_posix()
            known = {(Path("/") / p).as_posix() for p in [*pages, "reference.md"]}
            parts = []
            for part in place.split("/"):
                parts = parts[:-1] if part == ".." else [*parts, part]
            if "/reference" in place:
                assert "/".join(parts) in known, (where, target)


def test_options_of_an_entry_go_with_it(reference):
    text = next(x for p, x in reference.pages(LISTING).items() if p.endswith("/System.md"))
    assert "inherited_members: true" in text


def test_names_in_code_are_linked_from_where_they_stand(reference):
    known = reference.addresses(LISTING)
    html = reference.linked("<p><code>da.Run</code>, <code>run</code> and <code>Sweep</code></p>", known, "docs/x.html")
    assert f'<a href="../{known["Run"]}"><code>da.Run</code></a>' in html
    assert "<code>run</code> and" in html
    assert reference.linked("<code>Run</code>", known, known["Run"]) == "<code>Run</code>"


def test_sentences_of_errors_are_those_of_the_source():
    """A sentence that is raised here stands on the page, with its own words and marks for what is put in."""
    page = tool("error_page")
    found = page.sentences(ROOT / "src" / "dalembert")
    every = [text for part in found.values() for _, text in part]
    assert len(every) > 500
    with pytest.raises(da.ArgumentError) as error:
        da.linearize(da.zoo.cart_pole().compile(), {}).discretize(0.1).discretize(0.1)
    told = str(error.value)
    (sentence,) = {text for text in every if text.startswith("the model is discrete already")}
    assert re.fullmatch(re.sub("‹.*?›", "(.*)", sentence.replace(".", r"\.").replace("g›", "›")), told).groups() == (
        "0.1",
    )
    text = page.page(found)
    assert "<" not in text.replace("\\<", "")


@pytest.fixture(scope="module")
def cookbook():
    return tool("cookbook")


def test_fifty_questions_have_a_few_lines_and_a_picture(cookbook):
    text = cookbook.PAGE.read_text(encoding="utf-8")
    questions = [recipe["question"] for recipe in cookbook.recipes(text)]
    assert len(questions) == len(set(questions)) == text.count("\n### ")
    assert set(cookbook.PICTURES) <= set(questions)
    assert len(cookbook.PICTURES) >= 50
    lines = [len(re.findall("^(?:>>>|\\.\\.\\.) ", recipe["code"], re.M)) for recipe in cookbook.recipes(text)]
    assert sum(n <= 5 for n in lines) >= 50
    assert max(lines) <= 9


def test_recipes_are_shown_with_what_draws_them_in_light_and_dark(cookbook, tmp_path):
    text = cookbook.PAGE.read_text(encoding="utf-8")
    assert cookbook.with_pictures(text, "cookbook", tmp_path) == text  # none were drawn
    (tmp_path / "simulate-light.png").touch()
    shown = cookbook.with_pictures(text, "cookbook", tmp_path)
    for part in ("cookbook/simulate-light.png#only-light", "cookbook/simulate-dark.png#only-dark"):
        assert shown.count(part) == 1
    assert f"```python\n{cookbook.PICTURES['simulate?']}\n```" in shown


def test_pages_of_classes_have_a_recipe_with_its_picture(cookbook, reference, tmp_path):
    text = cookbook.PAGE.read_text(encoding="utf-8")
    classes = {page.rpartition("/")[2].removesuffix(".md") for page in reference.pages(LISTING) if page.count("/") == 2}
    assert set(cookbook.EXAMPLES) <= classes
    assert set(cookbook.EXAMPLES.values()) <= set(cookbook.PICTURES)
    assert cookbook.example("Run", text, "../..", tmp_path) == ""
    (tmp_path / "simulate-light.png").touch()
    shown = cookbook.example("Run", text, "../..", tmp_path)
    assert "run = da.simulate(linkage, start, 2.0)" in shown
    assert "(../../cookbook/simulate-dark.png#only-dark)" in shown


def test_guides_begin_with_a_picture_of_the_cookbook(cookbook, tmp_path):
    assert set(cookbook.LEADS.values()) <= set(cookbook.PICTURES)
    for page, question in cookbook.LEADS.items():
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        assert cookbook.led(page, text, tmp_path) == text  # none were drawn
        (tmp_path / f"{cookbook.slug(question)}-light.png").touch()
        assert f"](cookbook.md#{cookbook.slug(question)})" in cookbook.led(page, text, tmp_path)[:900]


@pytest.mark.dear
def test_every_picture_of_the_cookbook_shows_something(cookbook, tmp_path):
    """Two tenths of a percent of a picture, at least, stand out from its ground."""
    import numpy as np
    from matplotlib.image import imread

    drawn = list(cookbook.draw(tmp_path, {"light": "default"}))
    assert len(drawn) == len(cookbook.PICTURES)
    for path in drawn:
        assert (np.asarray(imread(path))[..., 3] > 0.5).mean() > 0.002, path.name
