"""What keeps a version from being released."""

import tomllib

from tests import licences
from tests.lowest import ROOT, lowest_versions, tools
from tests.release import EXTRAS, SMOKE, lowest, problems

CHANGELOG = "# Changelog\n\n## Unreleased\n\n## 0.2.0\n\n### Added\n- Something.\n\n## 0.1.0\n"


def test_a_version_with_its_section_and_citation_may_be_released():
    assert problems("0.2.0", CHANGELOG, "a: b\nversion: 0.2.0\nc: d\n") == []


def test_each_thing_that_is_missing_is_said():
    assert "no section '## 0.3.0'" in problems("0.3.0", CHANGELOG, "x\nversion: 0.3.0\n")[0]
    assert "is empty" in problems("0.1.0", CHANGELOG, "x\nversion: 0.1.0\n")[0]
    assert "CITATION.cff" in problems("0.2.0", CHANGELOG, "x\nversion: 0.1.0\n")[0]
    assert "three numbers" in problems("0.2.dev0", CHANGELOG, "")[0]


def test_the_lowest_versions_are_those_that_are_allowed():
    found = lowest((ROOT / "pyproject.toml").read_text())
    assert {"numpy==2.1.*", "plotly==6.0.*", "lightgbm==4.5.*", "dask==2025.1.*"} <= set(found)


def test_what_the_small_test_needs_is_installed():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(EXTRAS) <= set(extras)
    compile(SMOKE, "smoke", "exec")


def test_all_packages_have_a_lowest_version():
    found = lowest_versions((ROOT / "pyproject.toml").read_text())
    assert {"numpy", "numba", "plotly", "starlette", "dask[array,dataframe]"} <= found.keys()
    assert {"pytest", "polars", "grimp"} <= set(tools((ROOT / "pyproject.toml").read_text()))


def test_the_licences_of_all_packages_are_listed():
    listed = licences.PAGE.read_text()
    needed = licences.everything()
    assert needed["numpy"] == {"core"}
    assert needed["starlette"] == {"app"}
    assert [name for name in needed if f"| {name} |" not in listed] == []
    assert [name for name in licences.EARLIER if f"| {name} |" not in listed] == []


def test_what_extras_of_packages_need_is_needed():
    assert licences.needed("numcodecs[crc32c, zfpy]>=0.14", "") == ("numcodecs", ("crc32c", "zfpy"))
    assert licences.needed("crc32c>=2.7; extra == 'crc32c'", "crc32c") == ("crc32c", ())
    assert licences.needed("crc32c>=2.7; extra == 'crc32c'", "") is None
    assert licences.needed("colorama; sys_platform == 'win32'", "") is None
