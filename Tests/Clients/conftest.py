import pytest

from service import Account, Service


@pytest.fixture(scope="session")
def service():
    service = Service()
    yield service
    service.stop()


@pytest.fixture
def account(service, tmp_path):
    return Account(service, tmp_path)
