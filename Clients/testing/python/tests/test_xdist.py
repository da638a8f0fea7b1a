"""With pytest-xdist, all workers share one service, and there is none if no test needs it."""

import pytest


@pytest.fixture
def starts(pytester, monkeypatch, tmp_path):
    """The processes of the services that were started."""
    import os

    from carillon_testing.program import find

    monkeypatch.delenv("CARILLON_MANAGEMENT_URL", raising=False)
    program = tmp_path / "carillon"
    program.write_text(f"#!/bin/sh\necho start >>{tmp_path}/starts\nexec {find()} \"$@\"\n")
    os.chmod(program, 0o755)
    monkeypatch.setenv("CARILLON", str(program))
    return lambda: (tmp_path / "starts").read_text().splitlines() if (tmp_path / "starts").exists() else []


def test_the_service_is_not_started_if_no_test_needs_it(pytester, starts):
    pytester.makepyfile("def test_one(): pass\ndef test_other(): pass")
    pytester.runpytest_subprocess("-n", "2").assert_outcomes(passed=2)
    assert starts() == []


def test_all_workers_share_the_service(pytester, starts):
    pytester.makepyfile("""
        import pytest

        @pytest.mark.parametrize("number", range(8))
        def test_it(apns, number):
            assert apns.requests() == []
    """)
    pytester.runpytest_subprocess("-n", "4").assert_outcomes(passed=8)
    assert starts() == ["start"]


@pytest.mark.parametrize("error", ["KeyError('service')", "pytest.fail.Exception('service')", "SystemExit('service')"])
def test_all_workers_are_told_of_an_error_that_nobody_expects(pytester, monkeypatch, error):
    monkeypatch.delenv("CARILLON_MANAGEMENT_URL", raising=False)
    pytester.makeconftest(f"""
        import pytest
        from carillon_testing import Carillon

        def start(**_):
            raise {error}

        Carillon.start = start
    """)
    pytester.makepyfile("def test_one(apns): pass\ndef test_other(apns): pass")
    result = pytester.runpytest_subprocess("-n", "2", timeout=60)
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*The service did not start (*: *service*): *"] * 2)


def test_all_workers_are_told_why_it_does_not_start(pytester, monkeypatch):
    monkeypatch.delenv("CARILLON_MANAGEMENT_URL", raising=False)
    monkeypatch.setenv("CARILLON", "/nowhere/carillon")
    pytester.makepyfile("def test_one(apns): pass\ndef test_other(apns): pass")
    result = pytester.runpytest_subprocess("-n", "2")
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*CARILLON names /nowhere/carillon, which is not a program*"] * 2)
