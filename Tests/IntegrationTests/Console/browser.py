"""A Chromium that shows the console of a Carillon, and a provider that sends to it."""

import base64
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service as Driver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

sys.path.append(str(pathlib.Path(__file__).parent.parent / "Clients"))

from service import Account, Service  # noqa: E402

PATIENCE = 30


def chromium(width=1280, height=900, dark=False):
    options = Options()
    options.add_argument("--headless=new")
    # Chromium's sandbox does not start as root.
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")
    options.add_argument("--disable-dev-shm-usage")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Driver("/usr/bin/chromedriver"))
    show_as(driver, width, height, dark)
    return driver


def show_as(driver, width=1280, height=900, dark=False):
    """Gives the page a size and a colour scheme, without colours that fade into each other."""
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
        {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
        {"name": "prefers-reduced-motion", "value": "reduce"}]})


def wait(driver, condition, message=""):
    """The first true value of a condition."""
    ignored = (Exception,)
    return WebDriverWait(driver, PATIENCE, poll_frequency=0.05, ignored_exceptions=ignored).until(
        lambda driver: condition(), message)


class Provider:
    """Sends as a provider does: HTTP/2 with curl, and a token of its own key."""

    def __init__(self, service, folder):
        self.service = service
        self.account = Account(service, folder)
        self.token = self.account.device_token

    def authorization(self):
        def part(data):
            return base64.urlsafe_b64encode(data).rstrip(b"=")
        claims = {"iss": self.account.team_id, "iat": int(time.time())}
        header = {"alg": "ES256", "kid": self.account.key_id}
        text = b".".join(part(json.dumps(value).encode()) for value in (header, claims))
        signature = subprocess.run(
            ["openssl", "dgst", "-sha256", "-sign", str(self.account.key_file)], input=text, stdout=subprocess.PIPE,
            check=True).stdout
        return "bearer " + (text + b"." + part(signature)).decode()

    def send(self, payload, token=None, **headers):
        """The status of the answer."""
        fields = {"authorization": self.authorization(), "apns-topic": self.account.bundle_id, "apns-push-type": "alert"}
        fields.update({name.replace("_", "-"): value for name, value in headers.items()})
        command = ["curl", "--silent", "--http2", "--cacert", str(self.account.authority_file), "--output", os.devnull,
                   "--write-out", "%{http_code}", "--data-binary", "@-"]
        for name, value in fields.items():
            command += ["--header", f"{name}: {value}"]
        command.append(f"https://localhost:{self.account.port}/3/device/{token or self.token}")
        body = payload if isinstance(payload, str) else json.dumps(payload)
        result = subprocess.run(command, input=body, stdout=subprocess.PIPE, check=True, text=True)
        return int(result.stdout)

    def send_many(self, count):
        """With Carillon's own client, which is fast."""
        lines = "".join(json.dumps({
            "token": self.token, "topic": self.account.bundle_id, "pushType": "alert",
            "payload": {"aps": {"alert": f"Number {number}"}}}) + "\n" for number in range(count))
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([
                os.environ.get("CARILLON", "carillon"), "send", "--batch", "-", "--json",
                "--url", f"https://localhost:{self.account.port}", "--ca", str(self.account.authority_file),
                "--key-file", str(self.account.key_file), "--key-id", self.account.key_id,
                "--team-id", self.account.team_id, "--data", folder,
                # Some are refused, because a device token takes only so many a second: they are rows too.
            ], input=lines, text=True, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Console:
    """The console's page, as a person uses it."""

    def __init__(self, service, driver):
        self.service = service
        self.driver = driver

    def link(self):
        return self.service.manage("POST", "/v1/console/links", {})["url"]

    def sign_in(self):
        self.driver.get(self.link())
        self.wait(lambda: self.one("#live").text == "Live", "the stream")

    def one(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def wait(self, condition, message=""):
        return wait(self.driver, condition, message)

    def titles(self):
        return self.driver.execute_script(
            "return [...document.querySelectorAll('.space .row')]"
            ".sort((a, b) => a.ariaRowIndex - b.ariaRowIndex).map(row => row.querySelector('.title').textContent)")

    def wait_for_title(self, title):
        self.wait(lambda: title in self.titles(), f"{title!r} among {self.titles()}")

    def open(self, title):
        self.wait_for_title(title)
        self.driver.execute_script(
            "[...document.querySelectorAll('.space .title a')].find(link => link.textContent === arguments[0]).click()",
            title)
        self.wait(lambda: self.one(".detail h1").text == title, title)

    def show(self, fragment):
        self.driver.execute_script("location.hash = arguments[0]", fragment)
