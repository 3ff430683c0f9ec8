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
