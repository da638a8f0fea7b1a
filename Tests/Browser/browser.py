"""What the console's tests use: a Chromium that shows the console, and a provider that sends notifications."""

import base64
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import types
import unittest

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service as Driver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

sys.path.append(str(pathlib.Path(__file__).parent.parent / "Clients"))

from service import Account, Service  # noqa: E402

PATIENCE = 120


def chromium(width=1280, height=900, dark=False):
    options = Options()
    options.add_argument("--headless=new")
    # Chromium's sandbox does not work for the user root.
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")
    options.add_argument("--disable-dev-shm-usage")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Driver("/usr/bin/chromedriver"))
    show_as(driver, width, height, dark)
    return driver


def show_as(driver, width=1280, height=900, dark=False):
    """Gives the page a size and a colour scheme, and switches off transitions between colours."""
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
        {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
        {"name": "prefers-reduced-motion", "value": "reduce"}]})


def wait(driver, condition, message=""):
    """Waits until the condition returns a true value, and returns it."""
    ignored = (Exception,)
    return WebDriverWait(driver, PATIENCE, poll_frequency=0.05, ignored_exceptions=ignored).until(
        lambda driver: condition(), message)


class Provider:
    """Sends as a provider does: over HTTP/2 with curl, and with a provider token that its own key signed."""

    def __init__(self, service, folder, bundle_id=None):
        self.service = service
        self.account = Account(service, folder, bundle_id=bundle_id)
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
        command, body = self.command(payload, token, headers)
        result = subprocess.run(command, input=body, stdout=subprocess.PIPE, check=True, text=True)
        return int(result.stdout)

    @contextlib.contextmanager
    def begin(self, payload, token=None, **headers):
        """Sends, and waits for no answer; at the end the client hangs up."""
        command, body = self.command(payload, token, headers)
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as client:
            try:
                client.stdin.write(body)
                client.stdin.close()
                yield
            finally:
                client.kill()

    def command(self, payload, token, headers):
        fields = {"authorization": self.authorization(), "apns-topic": self.account.bundle_id, "apns-push-type": "alert"}
        fields.update({name.replace("_", "-"): value for name, value in headers.items()})
        command = ["curl", "--silent", "--http2", "--cacert", str(self.account.authority_file), "--output", os.devnull,
                   "--write-out", "%{http_code}", "--data-binary", "@-"]
        for name, value in fields.items():
            command += ["--header", f"{name}: {value}"]
        command.append(f"https://localhost:{self.account.port}/3/device/{token or self.token}")
        return command, payload if isinstance(payload, str) else json.dumps(payload)

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


class ProductionProvider(Provider):
    """A provider of a service that serves production, where there are no fixtures and no virtual devices."""

    def __init__(self, service, folder):
        self.service = service
        self.account = types.SimpleNamespace(
            bundle_id="com.example.production", port=service.port("production"), key_file=folder / "key.p8",
            authority_file=folder / "ca.pem", team_id=service.manage("POST", "/v1/teams", {"name": "Shop"})["teamID"])
        service.manage("POST", "/v1/apps", {"team": self.account.team_id, "bundleID": self.account.bundle_id})
        key = service.manage("POST", "/v1/keys", {"team": self.account.team_id})
        self.account.key_id = key["keyID"]
        self.account.key_file.write_text(key["privateKey"])
        self.account.authority_file.write_text(service.ready["caPEM"])


class UnknownProvider(Provider):
    """A provider whose team, key, app and device token the service does not know."""

    def __init__(self, service, folder):
        self.service = service
        self.account = types.SimpleNamespace(
            bundle_id="com.example.unknown", port=service.port("development"), key_file=folder / "key.p8",
            authority_file=folder / "ca.pem", team_id="UNKNOWN123", key_id="NEWKEY1234")
        subprocess.run(
            ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", str(self.account.key_file)],
            check=True, stderr=subprocess.DEVNULL)
        self.account.authority_file.write_text(service.ready["caPEM"])
        self.token = "5e" * 32


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

    def pages(self):
        """The names of the pages that the navigation leads to. A new page is tested without being named in a test."""
        return [link.get_attribute("hash").removeprefix("#/") for link in self.all("#nav a")]

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

    def show(self, fragment, heading=None):
        self.driver.execute_script("location.hash = arguments[0]", fragment)
        if heading is not None:
            self.wait(lambda: self.one("main h1").text == heading, heading)

    def text(self):
        return self.one("main").text

    def wait_for_text(self, text, selector="main"):
        self.wait(lambda: text in self.one(selector).text, f"{text!r} in {self.driver.title}")

    def button(self, label, within="body"):
        return self.wait(lambda: self.shown_button(label, within), label)

    def shown_button(self, label, within):
        return next(
            each for each in self.all(f"{within} button, {within} a.button") if each.text == label and each.is_displayed())

    # The page may draw an element anew between the search and the click, so both are tried again.

    def press(self, label, within="body"):
        self.wait(lambda: self.shown_button(label, within).click() is None, label)

    def click(self, selector):
        self.wait(lambda: self.one(selector).click() is None, selector)

    def follow(self, text):
        self.wait(lambda: self.driver.find_element(By.LINK_TEXT, text).click() is None, text)

    def choose(self, name, value):
        self.wait(lambda: Select(self.one(f"[name={name}]")).select_by_value(value) is None, f"{value} of {name}")
        # A person's choice fires "input" and then "change"; WebDriver's fires "change" alone.
        self.driver.execute_script(
            "arguments[0].dispatchEvent(new Event('input', { bubbles: true }))", self.one(f"[name={name}]"))

    def write(self, name, text, within="body"):
        """Replaces the text of a control, as if somebody pasted it."""
        self.driver.execute_script("""
            const [control, text] = arguments;
            control.value = text;
            control.dispatchEvent(new Event("input", { bubbles: true }));""", self.one(f"{within} [name={name}]"), text)


# Texts that would be taken for markup or a script, if the console did not show them as text.
INJECTIONS = [
    "<script>window.harmed = 1</script>", "<img src=x onerror='window.harmed = 1'>", "<svg onload=window.harmed=1>",
    "\"><script>window.harmed = 1</script>", "javascript:window.harmed=1", "' autofocus onfocus='window.harmed=1",
    "</title><script>window.harmed=1</script>", "{{constructor.constructor('window.harmed=1')()}}",
    "<iframe srcdoc='<script>parent.harmed=1</script>'>", "<a href=javascript:window.harmed=1 id=main>x</a>",
    "\u202e<b>x</b>", "<style>*{display:none}</style>",
]


class ConsoleCase(unittest.TestCase):
    """A base class for tests: each class has its own service, provider and browser."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.service = Service()
        cls.provider = Provider(cls.service, pathlib.Path(cls.folder.name))
        cls.driver = chromium()
        cls.console = Console(cls.service, cls.driver)

    @classmethod
    def tearDownClass(cls):
        cls.driver.quit()
        cls.service.stop()
        cls.folder.cleanup()

    def setUp(self):
        self.service.manage("DELETE", "/v1/requests")
        self.service.manage("PUT", "/v1/journal", {"keep": 10_000})
        self.console.sign_in()

    def send(self, title, **more):
        self.assertEqual(self.provider.send({"aps": {"alert": {"title": title, "body": "Text"}}}, **more), 200)

    def check_nothing_harmful(self):
        """Checks that no text that a stranger sent has become markup or a script."""
        self.assertIsNone(self.driver.execute_script("return window.harmed ?? null"))
        self.assertEqual(self.driver.execute_script("return document.querySelectorAll('script').length"), 1)
        self.assertEqual(self.console.all("main img, main iframe, main style, main script, dialog img"), [])

    def check_readable(self):
        """Checks the contrast of texts and the width of the page: light and dark, wide and narrow."""
        for scheme in ("light", "dark"):
            for width in (1280, 360):
                show_as(self.driver, width, dark=scheme == "dark")
                self.console.wait(lambda: self.driver.execute_script("return innerWidth") == width)
                self.assertLessEqual(
                    self.driver.execute_script("return document.documentElement.scrollWidth"), width,
                    f"{self.driver.title}, {scheme} at {width}")
                self.assertLessEqual(self.driver.execute_script(
                    "return document.querySelector('main').scrollWidth - document.querySelector('main').clientWidth"), 0,
                    f"{self.driver.title}, {scheme} at {width}")
                # The page scrolls below the bar, and nothing else does.
                self.assertLessEqual(self.driver.execute_script(
                    "return document.documentElement.scrollHeight - innerHeight"), 0, self.driver.title)
                self.assertEqual(self.driver.execute_script(CONTRAST), [], f"{self.driver.title}, {scheme} at {width}")
                self.assertEqual(self.driver.execute_script(CONTROLS), [], f"{self.driver.title}, {scheme} at {width}")
        show_as(self.driver)

    def check_names(self):
        """Checks that every control has a name in the tree that screen readers get."""
        self.driver.execute_cdp_cmd("Accessibility.enable", {})
        nodes = self.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        roles = {}
        for node in nodes:
            if not node.get("ignored"):
                roles.setdefault(node["role"]["value"], []).append(node.get("name", {}).get("value", ""))
        for role in ["button", "link", "textbox", "searchbox", "combobox", "checkbox", "radio", "spinbutton", "radiogroup",
                     "dialog", "table", "image", "meter", "progressbar", "navigation", "search"]:
            self.assertNotIn("", roles.get(role, []), f"{role} without a name on {self.driver.title}")
        for landmark in ["banner", "navigation", "main"]:
            self.assertEqual(len(roles.get(landmark, [])), 1, f"{landmark} on {self.driver.title}")
        headings = self.driver.execute_script("return document.querySelectorAll('main h1').length")
        self.assertEqual(headings, 1, self.driver.title)


# The texts whose contrast with their ground is below 4.5 (WCAG 2.2, 1.4.3); those of disabled controls may be.
COLOURS = """
const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
const rgba = color => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1); return canvas.getImageData(0, 0, 1, 1).data; };
const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const ground = node => { for (let n = node; n; n = n.parentElement) { const c = rgba(getComputedStyle(n).backgroundColor); if (c[3] === 255) return c; } return [255, 255, 255]; };
const between = (one, other) => { const [a, b] = [light(one), light(other)]; return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05); };
const isOn = node => node.checkVisibility() && !node.closest(':disabled, :has(> :disabled)');
"""
CONTRAST = COLOURS + """
return [...document.querySelectorAll('body *')].filter(node => isOn(node) && [...node.childNodes].some(c => c.nodeType === 3 && c.data.trim()))
  .map(node => [node.className + ' ' + node.textContent.slice(0, 30), between(rgba(getComputedStyle(node).color), ground(node))])
  .filter(([, ratio]) => ratio < 4.5);
"""
# The controls whose border cannot be told from what is beside it (3 to 1: 1.4.11), and hints in them that cannot be read.
CONTROLS = COLOURS + """
return [...document.querySelectorAll('input:not([type=radio], [type=checkbox]), select, textarea')].filter(isOn)
  .flatMap(node => [[node.name + ' border', between(rgba(getComputedStyle(node).borderTopColor), ground(node.parentElement)), 3],
    [node.name + ' hint', node.placeholder ? between(rgba(getComputedStyle(node, '::placeholder').color), ground(node)) : 21, 4.5]])
  .filter(([, ratio, least]) => ratio < least);
"""
