"""Clicks through the site that script/site made, in a real browser. SITE is its folder."""

import functools
import http.server
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading
import unittest

from selenium.webdriver.common.by import By

from browser import chromium, show_as, wait

ROOT = pathlib.Path(__file__).resolve().parents[2]
OLDER = "0.0.1"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


class SiteTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        folder = pathlib.Path(scratch.name) / "site"
        shutil.copytree(os.environ["SITE"], folder)
        cls.version = next(path.name for path in folder.iterdir() if path.is_dir())
        # A second version, so that there is a choice.
        shutil.copytree(folder / cls.version, folder / OLDER)
        subprocess.run([ROOT / "Site/versions", folder, cls.version], check=True)
        server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        cls.addClassCleanup(server.server_close)
        cls.addClassCleanup(server.shutdown)
        cls.address = f"http://127.0.0.1:{server.server_port}/"
        cls.driver = chromium()
        cls.addClassCleanup(cls.driver.quit)

    def setUp(self):
        show_as(self.driver)

    def open(self, path, version=None):
        self.driver.get(f"{self.address}{version or self.version}/{path}")

    def one(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def wait(self, condition, message=""):
        return wait(self.driver, condition, message)

    def scheme(self):
        return self.one("body").get_attribute("data-md-color-scheme")

    def test_the_address_leads_to_the_front_page_of_the_newest_version(self):
        self.driver.get(self.address)
        self.wait(lambda: f"/{self.version}/" in self.driver.current_url, "the newest version")
        self.assertEqual(self.one("article h1").text.rstrip("¶"), "Carillon")

    def test_the_front_page_has_a_picture_and_a_command_for_each_kind_of_user(self):
        self.open("index.html")
        self.wait(lambda: self.driver.execute_script("return document.querySelector('article img').naturalWidth") > 0, "the picture")
        headings = self.all("article h2")
        self.assertEqual(len(headings), 3)
        self.assertEqual(len(self.all("article pre")), 3)

    def test_each_link_of_the_front_page_leads_to_a_page(self):
        self.open("index.html")
        for link in [each.get_attribute("href") for each in self.all("article p a")]:
            with self.subTest(link=link):
                self.driver.get(link)
                self.wait(lambda: any(each.text for each in self.all("main h1")), "a heading")

    def test_the_readme_is_a_page_that_the_documents_lead_to(self):
        self.open("docs/index.html")
        self.driver.get(self.one("article td a").get_attribute("href"))
        self.wait(lambda: self.one("article h1").text.rstrip("¶") == "First steps", "the README")
        self.assertIn("carillon device activate", self.one("article").get_property("textContent"))
        # It links to the site, in the repository too.
        self.driver.get(next(link for link in self.all("article a") if link.text == "site").get_attribute("href"))
        self.wait(lambda: self.one("article h1").text.rstrip("¶") == "Carillon", "the front page")

    def test_an_example_of_the_apis_says_what_it_is(self):
        self.open("api/management.html")
        text = self.one("article").get_property("textContent")
        self.assertIn("The shape of the body, with the types of its values.", text)
        self.assertNotIn("not accurate", text)

    def test_the_name_beside_the_version_is_whole_on_a_narrow_screen(self):
        show_as(self.driver, width=360)
        self.open("index.html")
        self.wait(lambda: self.one(".md-version__current").is_displayed(), "the version")
        name = self.one(".md-header__topic .md-ellipsis")
        self.assertLessEqual(name.get_property("scrollWidth"), name.get_property("clientWidth"))

    def test_search_finds_a_page_by_a_word_in_it(self):
        self.open("index.html")
        self.one("input.md-search__input").send_keys("TooManyProviderTokenUpdates")
        result = self.wait(lambda: self.one(".md-search-result__link"), "a result")
        self.driver.get(result.get_attribute("href"))
        self.wait(lambda: "TooManyProviderTokenUpdates" in self.one("article").get_property("textContent"), "the word")

    def test_the_scheme_is_that_of_the_system_and_can_be_changed(self):
        show_as(self.driver, dark=True)
        self.open("docs/index.html")
        self.wait(lambda: self.scheme() == "slate", "dark")
        self.wait(lambda: self.one("label[title=Light]").click() is None, "the switch")
        self.addCleanup(self.driver.execute_script, "localStorage.clear()")
        self.wait(lambda: self.scheme() == "default", "light")

    def test_pages_fit_into_360_pixels(self):
        show_as(self.driver, width=360)
        for path in ["index.html", "docs/index.html", "docs/provider-api.html", "docs/settings.html", "api/management.html",
                     "api/provider.html"]:
            with self.subTest(path=path):
                self.open(path)
                width = self.driver.execute_script("return document.documentElement.scrollWidth")
                self.assertLessEqual(width, 360)

    def test_the_libraries_have_their_documentation(self):
        self.open("libraries/APNSProvider/documentation/apnsprovider/gettingstarted/")
        self.wait(lambda: self.one("main h1").text == "Getting started", "the article")

    def test_the_apis_of_the_servers_and_the_agent_have_each_operation(self):
        for page, operation in [("management", "POST /v1/fixtures"), ("provider", "POST /v1/messages"), ("agent", "PUT /v1/apps/{bundleID}")]:
            with self.subTest(page=page):
                self.open(f"api/{page}.html")
                self.assertIn(operation, self.one("article").get_property("textContent"))

    def test_an_operation_shows_its_answers_when_it_is_opened(self):
        self.open("api/management.html")
        # A reader sees the operations and the names of the schemas, not 100,000 pixels of bodies.
        self.assertLess(self.driver.execute_script("return document.documentElement.scrollHeight"), 25_000)
        operation = self.one("#post-v1channels ~ .operation")
        answers = operation.find_element(By.CSS_SELECTOR, ".responses-title")
        self.assertFalse(answers.is_displayed())
        operation.find_element(By.CSS_SELECTOR, "summary").click()
        self.wait(answers.is_displayed, "the answers")

    def test_the_columns_of_the_front_page_are_in_line(self):
        self.open("index.html")
        for selector in [".users h2", ".users .highlight", ".users p:last-child"]:
            with self.subTest(selector=selector):
                self.assertEqual(len({round(each.rect["y"]) for each in self.all(selector)}), 1)

    def test_a_setting_has_its_names_in_one_column(self):
        self.open("docs/settings.html")
        self.assertEqual(self.one("article td:has(> .names)").text.split("\n"), ["--data", "CARILLON_DATA", "data"])

    def test_links_to_documents_have_titles_and_not_file_names(self):
        for page in ["start.html", "docs/index.html", "docs/settings.html"]:
            self.open(page)
            self.assertEqual([each.text for each in self.all("article a") if each.text.endswith(".md")], [], page)

    def test_another_version_is_a_choice_in_the_menu(self):
        self.open("docs/index.html")
        link = self.wait(lambda: next(
            each for each in self.all(".md-version__link") if each.get_property("textContent").strip() == OLDER), "the menu")
        self.driver.get(link.get_attribute("href"))
        self.assertIn(f"/{OLDER}/", self.driver.current_url)

    def test_no_page_loads_anything_from_another_host(self):
        for path in ["index.html", "docs/index.html", "api/management.html",
                     "libraries/APNSProvider/documentation/apnsprovider/gettingstarted/"]:
            with self.subTest(path=path):
                self.open(path)
                self.wait(lambda: any(each.text for each in self.all("h1")), "a heading")
                loaded = self.driver.execute_script("return performance.getEntriesByType('resource').map(each => each.name)")
                self.assertTrue(loaded)
                self.assertEqual([name for name in loaded if not name.startswith((self.address, "data:", "blob:"))], [])


if __name__ == "__main__":
    unittest.main()
