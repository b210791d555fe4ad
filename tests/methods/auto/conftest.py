"""What tests of the default method share."""

import pytest

from tupi.methods.auto import clouds


@pytest.fixture
def without_clouds(monkeypatch):
    """The method as if no two labels were of the same value, for tests of what others say."""
    monkeypatch.setattr(clouds, "repeat", lambda which: False)
