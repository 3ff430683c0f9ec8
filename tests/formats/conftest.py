"""Fixtures of tests of formats."""

import pytest

import dalembert as da


@pytest.fixture
def read(tmp_path):
    def reading(body, version="1.9", name="file.sdf", **options):
        (tmp_path / name).write_text(f'<sdf version="{version}">{body}</sdf>')
        return da.read_sdf(tmp_path / name, **options)

    return reading
