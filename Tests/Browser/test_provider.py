"""Tests the provider server's console in a real browser, while it sends to a Carillon."""

import contextlib
import http.server
import json
import threading
import unittest

from selenium.webdriver.common.keys import Keys

from browser import INJECTIONS, Console, ConsoleCase, Service, chromium, wait
from provider_server import ProviderServer, Shop

# So many that a message to them takes half a minute at the tests' rates, also while the machine is busy.
DEVICES = 120


class ProviderConsole(Console):
    def sign_in(self):
        self.driver.get(self.link())
        self.wait(lambda: self.one("#nav").is_displayed(), "the pages")

    def field(self, name, text):
        """Replaces the text of a control of the page, or of the dialog above it."""
        self.write(name, text, "dialog" if self.all("dialog") else "main")

    def cells(self, selector):
        return [each.text for each in self.all(selector)]


class ProviderConsoleCase(ConsoleCase):
    """A base class for tests: each class has its own Carillon, provider server and browser."""

    @classmethod
    def setUpClass(cls):
        cls.service = Service()
        cls.server = ProviderServer()
        cls.driver = chromium()
        cls.console = ProviderConsole(cls.server, cls.driver)

    @classmethod
    def tearDownClass(cls):
        cls.driver.quit()
        cls.server.stop()
        cls.service.stop()

    def setUp(self):
        for app in self.server.manage("GET", "/v1/apps")["items"]:
            self.server.manage("DELETE", "/v1/apps/" + app["bundleID"])
        self.console.sign_in()

    def make_shop(self, devices=3):
        shop = Shop(self.service, self.server, devices)
        for number in range(devices):
            shop.register(f"phone-{number}", number)
        return shop

    def open_message(self, message):
        self.console.show("#/message/" + message["id"])
        self.console.wait_for_text(message["id"])


class MessageTests(ProviderConsoleCase):
    def test_the_bar_moves_and_the_message_is_paused_and_resumed_and_cancelled(self):
        shop = self.make_shop(DEVICES)
        message = shop.send(rate=2)
        self.open_message(message)
        value = lambda: self.driver.execute_script(
            "const bar = document.querySelector('progress'); return bar.hasAttribute('value') ? bar.value : -1")
        self.console.wait(lambda: self.driver.execute_script("return document.querySelector('progress').max") == DEVICES)
        self.console.wait(lambda: 0 < value() < DEVICES, "some are sent")
        first = value()
        self.console.wait(lambda: value() > first, "the bar moves")
        self.assertIn(f"of {DEVICES} sent", self.console.one("progress").get_attribute("aria-valuetext"))
        self.console.press("Pause", "main")
        self.console.wait_for_text("Paused", ".badge")
        self.assertEqual(shop.message(message)["state"], "paused")
        self.console.wait_for_text("At most 2 a second.", "main")
        self.console.press("Change the rate", "main")
        self.console.field("rate", "3")
        self.console.press("Change it", "dialog")
        self.console.wait_for_text("At most 3 a second.", "main")
        self.assertEqual(shop.message(message)["rate"], 3)
        # The keyboard's focus stays where the person works.
        self.console.press("Resume", "main")
        self.console.wait_for_text("Sending", ".badge")
        self.console.wait(lambda: self.driver.switch_to.active_element.text == "Pause", "the focus")
        self.console.press("Cancel", "main")
        self.console.wait_for_text("will not get it", "dialog")
        self.console.press("Cancel the message", "dialog")
        self.console.wait_for_text("Cancelled", ".badge")
        self.assertEqual(shop.message(message)["state"], "cancelled")
        self.assertFalse(self.console.one("progress").is_displayed())

    def test_the_list_shows_state_and_progress_and_the_newest_first(self):
        shop = self.make_shop(DEVICES)
        old = shop.send({"installations": ["phone-0"]}, {"aps": {"alert": "The old one"}})
        self.console.wait(lambda: shop.message(old)["state"] == "finished")
        shop.send(rate=2, payload={"aps": {"alert": {"title": "The new one"}}})
        self.console.show("#/messages", "Messages")
        self.console.wait_for_title("The new one")
        self.assertEqual(self.console.titles(), ["The new one", "The old one"])
        bar = "return [...document.querySelectorAll('.space .row')].sort((a, b) => a.ariaRowIndex - b.ariaRowIndex)[0].querySelector('progress')"
        self.console.wait(lambda: self.driver.execute_script(bar + ".max") == DEVICES, "the number of recipients")
        first = self.driver.execute_script(bar + ".value")
        self.console.wait(lambda: self.driver.execute_script(bar + ".value") > first, "the bar moves")
        self.assertEqual(sorted(self.console.cells(".space .badge")), ["Finished", "Sending"])
        # With the keyboard: down to the old one, in, and back to its row.
        self.driver.execute_script("document.querySelector('.space a[tabindex=\"0\"]').focus()")
        self.driver.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
        self.driver.switch_to.active_element.send_keys(Keys.ENTER)
        self.console.wait(lambda: self.console.one("main h1").text == "The old one")
        self.driver.back()
        self.console.wait(lambda: self.driver.switch_to.active_element.text == "The old one")

    def test_outcomes_are_counted_and_listed_and_exported_by_reason(self):
        shop = self.make_shop(2)
        shop.register("broken", "00" * 32)
        message = shop.send()
        self.open_message(message)
        self.console.wait_for_text("Finished", ".badge")
        self.console.wait(lambda: self.console.cells(".outcomes td:last-child") == ["2", "1"])
        self.console.wait_for_text("BadDeviceToken", ".outcomes")
        self.console.wait_for_text("does not belong to this environment", ".outcomes")
        names = lambda: sorted(self.console.cells(".recipients td:first-child"))
        self.console.wait(lambda: names() == ["broken", "phone-0", "phone-1"])
        for value, expected in [("accepted", ["phone-0", "phone-1"]), ("failed", ["broken"]), ("reason BadDeviceToken", ["broken"])]:
            self.console.choose("outcome", value)
            self.console.wait(lambda: names() == expected, value)
            # The files have the same filter.
            text = self.driver.execute_async_script("""
                const [name, done] = arguments;
                const link = [...document.querySelectorAll("a[download]")].find((each) => each.textContent === name);
                fetch(link.href).then((answer) => answer.text()).then(done);""", "CSV")
            self.assertEqual(sorted(line.split(",")[0] for line in text.splitlines()[1:]), expected)
        self.console.press("Accepted", ".outcomes")
        self.console.wait(lambda: names() == ["phone-0", "phone-1"])
        self.console.follow("phone-1")
        self.console.wait_for_text("Device token", ".card")
        self.assertEqual(self.console.one("[name=find]").get_property("value"), "phone-1")

    def test_the_total_is_there_from_the_start_and_who_opened_it_is_counted(self):
        shop = self.make_shop(2)
        tomorrow = self.driver.execute_script("return new Date(Date.now() + 864e5).toISOString()")
        message = shop.send(quietHours={"from": "00:00", "to": "00:01"}, sendAt=tomorrow)
        self.open_message(message)
        self.console.wait_for_text("Begins", "main")
        # What the sender asked for can be read.
        self.console.wait_for_text('{"from":"00:00","to":"00:01"}', "main")
        message = shop.send(countsOpened=True)
        self.open_message(message)
        self.console.wait_for_text("Finished", ".badge")
        self.console.wait_for_text("2 recipients have an outcome: 2 accepted, 0 failed.", "main")
        self.assertEqual(shop.message(message)["total"], 2)
        self.assertNotIn("Opened", self.console.one(".outcomes").text)
        # The app says so long after the message was sent, while the page is open.
        self.server.manage("POST", f"/v1/installations/phone-1/opened?bundleID={shop.bundle_id}", {"message": message["id"]})
        self.console.wait_for_text("Opened", ".outcomes")
        self.assertEqual(self.console.cells(".outcomes td:last-child"), ["2", "1"])
        opened = lambda: {row.find_elements("css selector", "td")[0].text: row.find_elements("css selector", "td")[3].text
                          for row in self.console.all(".recipients tbody tr")}
        self.console.wait(lambda: opened().get("phone-1", "") != "" and opened().get("phone-0") == "", "the time")

    def test_a_paused_message_says_why_and_an_unknown_one_what_it_may_be(self):
        shop = self.make_shop(1)
        # A key that the service does not know.
        self.server.manage("PUT", "/v1/apps/" + shop.bundle_id, {
            "teamID": shop.team_id, "environments": {"development": {**shop.place, "key": {**shop.key, "keyID": "UNKNOWN123"}}}})
        message = shop.send()
        self.open_message(message)
        self.console.wait_for_text("Paused by the server", ".callout")
        self.console.wait_for_text("InvalidProviderToken", ".callout")
        self.console.show("#/message/nothing")
        self.console.wait_for_text("There is no such message")


class ComposeTests(ProviderConsoleCase):
    def setUp(self):
        super().setUp()
        self.shop = self.make_shop(1)
        for number, tags in enumerate([["news"], ["news", "muted"], []]):
            self.shop.register(f"reader-{number}", f"{number:02}" * 32, tags=tags, user=f"user {number}", values={"name": f"N{number}"})
        self.console.show("#/messages")
        self.console.show("#/compose", "New message")
        self.console.wait(lambda: self.console.one("[name=app]").get_property("value") == self.shop.bundle_id)

    def test_a_dry_run_says_who_would_get_it_and_then_it_is_sent(self):
        self.console.field("tags", "news")
        self.console.field("aps-title", "For you")
        self.console.field("aps-body", "Hello, {{name}}")
        self.console.press("Dry run")
        self.console.wait_for_text("2 installations would get it now.")
        self.console.wait_for_text("Hello, N0")
        self.console.wait_for_text("Hello, N1")
        self.assertEqual(self.server.manage("GET", "/v1/messages")["items"], [])
        # What was checked is not what the form says any more.
        self.console.field("tags", "news && !muted")
        self.console.wait(lambda: "would get it" not in self.console.text())
        self.console.press("Dry run")
        self.console.wait_for_text("1 installation would get it now.")
        self.console.press("Send it to 1 installation")
        self.console.wait(lambda: self.console.one("main h1").text == "For you")
        self.console.wait_for_text("Finished", ".badge")
        [message] = self.server.manage("GET", "/v1/messages")["items"]
        self.assertEqual(message["accepted"] + message["failed"], 1)
        # The same again, as a draft.
        self.console.follow("Use as a draft")
        self.console.wait(lambda: self.console.one("[name=tags]").get_property("value") == "news && !muted")
        self.assertIn("For you", self.console.one("[name=payload]").get_property("value"))

    def test_everything_of_the_form_arrives(self):
        for name, text in [("users", "user 0\nuser 2\n"), ("language", "sv"), ("rate", "70"), ("collapseID", "score"),
                           ("fallbackLanguage", "en"), ("texts", '{"en":{"greeting":"Hi"}}'), ("values", '{"name":"you"}')]:
            self.console.field(name, text)
        self.console.field("payload", '{"aps":{"alert":"{{greeting}}"}}')
        for name, value in [("priority", "5"), ("environment", "development"), ("expiration", "0"), ("pushType", "alert"), ("when", "localTime")]:
            self.console.choose(name, value)
        year = self.driver.execute_script("return new Date(Date.now() + 864e5).toISOString().slice(0, 16)")
        self.console.field("time", year)
        self.console.press("Dry run")
        self.console.wait_for_text("0 installations would get it now.")
        self.console.wait_for_text("Nobody meets all conditions.")
        self.console.press("Schedule it for 0 installations")
        self.console.wait_for_text("Begins")
        [message] = self.server.manage("GET", "/v1/messages")["items"]
        self.assertEqual(self.server.manage("GET", f"/v1/messages/{message['id']}?include=request")["request"], {
            "bundleID": self.shop.bundle_id, "audience": {"users": ["user 0", "user 2"], "language": "sv", "environment": "development"},
            "payload": {"aps": {"alert": "{{greeting}}"}}, "texts": {"en": {"greeting": "Hi"}}, "fallbackLanguage": "en",
            "values": {"name": "you"}, "rate": 70, "collapseID": "score", "priority": 5, "expiration": 0, "pushType": "alert", "localTime": year})

    def test_numbers_keep_their_digits(self):
        numbers = ["18446744073709551615", "1.0", "1e400"]
        self.console.field("tags", "news && !muted")
        self.console.field("values", '{"n":18446744073709551615}')
        self.console.field("payload", '{"aps":{"alert":"x"},"numbers":[%s]}' % ",".join(numbers))
        # The form writes the whole payload again.
        self.console.field("aps-title", "More")
        self.console.press("Dry run")
        self.console.wait_for_text("1 installation would get it now.")
        self.console.press("Send it to 1 installation")
        self.console.wait_for_text("Finished", ".badge")
        for number in numbers:
            self.console.wait_for_text(number, "main")
        self.console.follow("Use as a draft")
        self.console.wait(lambda: "18446744073709551615" in self.console.one("[name=values]").get_property("value"))
        for number in numbers:
            self.assertIn(number, self.console.one("[name=payload]").get_property("value"))

    def test_what_is_counted_and_held_arrives(self):
        self.console.field("tags", "news")
        self.console.click("[name=countsOpened]")
        self.console.field("payload", '{"aps":{"alert":"x","badge":"+1"}}')
        self.console.field("quietFrom", "22:00")
        self.console.press("Dry run")
        self.console.wait_for_text("when the quiet hours begin and when they end", "#check")
        self.console.field("quietTo", "07:00")
        self.console.press("Dry run")
        self.console.wait_for_text("2 installations would get it now.")
        self.console.wait_for_text('"badge": 1', "main")
        self.console.press("Send it to 2 installations")
        self.console.wait(lambda: "#/message/" in self.driver.current_url)
        [message] = self.server.manage("GET", "/v1/messages")["items"]
        request = self.server.manage("GET", f"/v1/messages/{message['id']}?include=request")["request"]
        self.assertEqual((request["quietHours"], request["countsOpened"]), ({"from": "22:00", "to": "07:00"}, True))

    def test_faults_are_shown_where_they_are(self):
        focused = lambda: self.driver.switch_to.active_element.get_attribute("name")
        self.console.press("Dry run")
        self.console.wait_for_text("Choose who gets it", "#check")
        self.assertEqual(focused(), "tags")
        self.console.field("tags", "news &&")
        self.console.press("Dry run")
        self.console.wait_for_text("At character", "#check")
        self.console.wait(lambda: focused() == "tags")
        self.assertEqual(self.console.one("[name=tags]").get_attribute("aria-invalid"), "true")
        self.console.field("tags", "news")
        self.console.field("payload", "{")
        self.console.press("Dry run")
        self.console.wait_for_text("The payload is not JSON", "#check")
        self.console.wait(lambda: focused() == "payload")
        self.console.field("payload", '{"aps":{"alert":"{{nothing}}"}}')
        self.console.press("Dry run")
        self.console.wait_for_text("There is no value for nothing.")
        self.console.field("values", "[")
        self.console.press("Dry run")
        self.console.wait_for_text("That is not JSON", "#check")
        self.console.wait(lambda: focused() == "values")

    def test_everybody_has_to_be_said_and_excludes_conditions(self):
        self.console.field("tags", "news")
        self.console.click("[name=everybody]")
        self.assertFalse(self.console.one("[name=tags]").is_enabled())
        self.console.field("aps-body", "Hello")
        self.console.press("Dry run")
        self.console.wait_for_text("4 installations would get it now.")


class AudienceTests(ProviderConsoleCase):
    def test_an_audience_is_saved_and_changed_and_a_message_goes_to_it(self):
        shop = self.make_shop(1)
        shop.register("phone-0", 0, tags=["beta"])
        for number, tags in enumerate([["beta", "muted"], []]):
            shop.register(f"reader-{number}", f"{number:02}" * 32, tags=tags)
        self.console.show("#/audiences", "Audiences")
        self.console.wait_for_text("No saved audience yet")
        self.console.press("New audience")
        self.console.field("name", "testers")
        self.console.field("saved-tags", "beta &&")
        self.console.press("Save", "dialog")
        self.console.wait_for_text("At character", "dialog .problem")
        self.console.field("saved-tags", "beta")
        self.console.press("Save", "dialog")
        self.console.wait_for_text("2 installations now", ".card")
        self.console.press("Change", ".card")
        self.assertEqual(self.console.one("dialog [name=saved-tags]").get_property("value"), "beta")
        self.console.field("saved-where", "not tag = muted")
        self.console.press("Count", "dialog")
        self.console.wait_for_text("1 installation now", "dialog .count")
        self.console.field("saved-where", "")
        self.console.field("saved-tags", "beta && !muted")
        self.console.press("Save", "dialog")
        self.console.wait_for_text("1 installation now", ".card")
        self.console.press("New message", ".card")
        self.console.wait(lambda: self.console.one("[name=saved]").get_property("value") == "testers")
        self.console.field("aps-title", "For testers")
        self.console.press("Dry run")
        self.console.wait_for_text("1 installation would get it now.")
        self.console.press("Send it to 1 installation")
        self.console.wait(lambda: self.console.one("main h1").text == "For testers")
        self.console.wait_for_text("Finished", ".badge")
        # A draft of the message names the audience again, as long as it has the same conditions.
        self.console.follow("Use as a draft")
        self.console.wait(lambda: self.console.one("[name=saved]").get_property("value") == "testers")
        self.driver.back()
        self.console.show("#/audiences", "Audiences")
        self.console.press("Delete", ".card")
        self.console.press("Delete it", "dialog")
        self.console.wait_for_text("No saved audience yet")
        [message] = self.server.manage("GET", "/v1/messages")["items"]
        self.console.show("#/compose?from=" + message["id"])
        self.console.wait_for_text("Choose again who gets it", "#check")


class ChannelTests(ProviderConsoleCase):
    def test_a_channel_is_made_and_a_message_goes_to_it_and_it_is_deleted(self):
        shop = self.make_shop(1)
        channels = self.service.ready["development"]["channels"].rsplit(":", 1)[1]
        self.server.manage("PUT", "/v1/apps/" + shop.bundle_id, {
            "teamID": shop.team_id, "environments": {"development": {**shop.place, "channels": f"https://localhost:{channels}"}}})
        self.console.show("#/channels", "Channels")
        self.console.wait_for_text("No channel yet")
        self.console.press("New channel")
        self.console.choose("keeps", "nothing")
        self.console.press("Make it", "dialog")
        self.console.wait(lambda: len(self.console.all(".channels code")) == 1, "the channel")
        name = self.console.one(".channels code").text
        [listed] = self.server.manage("GET", f"/v1/channels?bundleID={shop.bundle_id}&environment=development")["items"]
        self.assertEqual(listed["id"], name)
        self.console.press("New message", ".channels")
        self.console.wait(lambda: self.console.one("[name=channel]").get_property("value") == name)
        self.assertFalse(self.console.one("[name=tags]").is_enabled())
        self.console.field("payload", '{"aps":{"event":"update","timestamp":1,"content-state":{"score":1}}}')
        self.console.press("Dry run")
        self.console.wait_for_text("the channel would get it now.")
        self.console.press("Send it to the channel")
        self.console.wait_for_text("Finished", ".badge")
        [message] = self.server.manage("GET", "/v1/messages")["items"]
        self.assertEqual((message["accepted"], message["total"]), (1, 1))
        self.console.show("#/channels", "Channels")
        self.console.wait(lambda: len(self.console.all(".channels code")) == 1)
        self.console.press("Delete", ".channels")
        self.console.press("Delete it", "dialog")
        self.console.wait_for_text("No channel yet")

    def test_an_app_without_the_address_of_channels_says_what_is_missing(self):
        self.make_shop(1)
        self.console.show("#/channels", "Channels")
        self.console.wait_for_text("set channels", ".notice")


class InstallationTests(ProviderConsoleCase):
    def test_one_is_found_by_its_identifier_and_those_of_a_user_by_the_user(self):
        shop = self.make_shop(3)
        shop.register("phone-0", 0, user="anna & bo", languages=["sv-SE", "en"], tags=["news"], timeZone="Europe/Stockholm", values={"name": "Anna"})
        shop.register("phone-1", 1, user="anna & bo")
        # It takes the device token of phone-1, which ends.
        shop.register("new", 1)
        self.console.show("#/installations", "Installations")
        self.console.wait_for_text("Look one up")
        look_up = lambda text: (self.console.field("find", text), self.console.press("Look up"))
        look_up("phone-0")
        for text in ["anna & bo", "sv-SE", "news", "Europe/Stockholm", shop.tokens[0], "Active"]:
            self.console.wait_for_text(text, ".card")
        look_up("anna & bo")
        self.console.wait(lambda: len(self.console.all(".card")) == 2)
        self.console.wait_for_text("replaced")
        self.console.wait_for_text("another installation has registered its device token")
        # The address finds the same.
        address = self.driver.current_url
        self.console.show("#/messages", "Messages")
        self.driver.get(address)
        self.console.wait(lambda: len(self.console.all(".card")) == 2)
        look_up("nobody")
        self.console.wait_for_text("Nothing found")
        look_up("phone-2")
        self.console.press("Remove", ".card")
        self.console.press("Remove it", "dialog")
        self.console.wait_for_text("Nothing found")
        names = [each["id"] for each in self.server.manage("GET", f"/v1/installations?bundleID={shop.bundle_id}")["items"]]
        self.assertEqual(names, ["phone-0", "phone-1", "new"])


class Receiver:
    """An address that receives events, and answers with a status."""

    def __init__(self, status=204):
        events = self.events = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                events.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(status)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/events"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class HookTests(ProviderConsoleCase):
    def test_a_hook_is_added_and_its_log_shows_what_was_sent(self):
        shop = self.make_shop(1)
        with contextlib.ExitStack() as stack:
            good, bad = Receiver(), Receiver(500)
            stack.callback(good.stop)
            stack.callback(bad.stop)
            self.console.show("#/hooks", "Hooks")
            self.console.wait_for_text("No hook yet")
            for receiver in (good, bad):
                self.console.press("New hook")
                self.console.field("url", receiver.url)
                self.console.press("Add it", "dialog")
                self.console.wait_for_text("never again", "dialog")
                self.assertTrue(self.console.one("dialog .secret").text.startswith("whsec_"))
                # The secret stays until the person says that they have it.
                self.driver.switch_to.active_element.send_keys(Keys.ESCAPE)
                self.assertTrue(self.console.one("dialog .secret").is_displayed())
                self.console.press("Done", "dialog")
                self.console.wait(lambda: not self.console.all("dialog"))
            shop.send()
            card = lambda url: next(each for each in self.console.all(".card") if url in each.text).text
            self.console.wait(lambda: "message.finished" in card(good.url) and "delivered" in card(good.url))
            self.console.wait(lambda: "waiting" in card(bad.url) and "500" in card(bad.url) and "again at" in card(bad.url))
            self.assertEqual(good.events[0]["type"], "message.finished")
            # The list is drawn again whenever the log changes, so the button may have been replaced.
            self.console.wait(lambda: self.driver.find_element("css selector", f"[aria-label='Delete {bad.url}']").click() is None)
            self.console.press("Delete it", "dialog")
            self.console.wait(lambda: len(self.console.all(".card")) == 1)

    def test_an_address_without_tls_is_refused_with_a_reason(self):
        self.make_shop(1)
        self.console.show("#/messages")
        self.console.show("#/hooks", "Hooks")
        self.console.press("New hook")
        self.console.field("url", "http://example.com/events")
        self.console.press("Add it", "dialog")
        self.console.wait_for_text("https://", "dialog .problem")


class AppTests(ProviderConsoleCase):
    def test_an_app_is_added_and_its_keys_are_shown_once(self):
        shop = self.make_shop(1)
        self.server.manage("DELETE", "/v1/apps/" + shop.bundle_id)
        self.console.show("#/apps", "Apps")
        self.console.wait_for_text("No app yet")
        self.console.press("New app")
        # The identifiers that the service takes, and no others.
        for name in ["teamID", "keyID"]:
            for text, is_valid in [("a b", False), ("x" * 65, False), ("x" * 64, True), ("team_1-a", True)]:
                self.console.field(name, text)
                self.assertEqual(self.driver.execute_script(
                    "return document.querySelector(`dialog [name=${arguments[0]}]`).validity.valid", name), is_valid, text)
        for name, text in [("bundleID", shop.bundle_id), ("teamID", shop.team_id), ("keyID", shop.key["keyID"]), ("privateKey", "nonsense"),
                           ("url", shop.place["url"]), ("authority", shop.place["authority"])]:
            self.console.field(name, text)
        self.console.choose("environment", "development")
        self.console.press("Add it", "dialog")
        self.console.wait(lambda: self.console.one("dialog .problem").text != "", "the fault")
        self.console.field("privateKey", shop.key["privateKey"])
        self.console.press("Add it", "dialog")
        self.console.wait(lambda: len(self.console.all("dialog .secret")) == 2)
        keys = self.console.cells("dialog .secret")
        self.assertEqual([key[:3] for key in keys], ["ck_", "sk_"])
        self.console.press("Done", "dialog")
        self.console.wait_for_text(shop.key["keyID"], ".card")
        self.assertNotIn(keys[0], self.console.text())
        self.console.click(f"[aria-label='New server key: {shop.bundle_id}']")
        self.console.press("Replace it", "dialog")
        self.console.wait(lambda: self.console.cells("dialog .secret") != [])
        self.assertNotEqual(self.console.one("dialog .secret").text, keys[1])
        self.console.press("Done", "dialog")
        self.console.click(f"[aria-label='Delete: {shop.bundle_id}']")
        self.console.press("Delete the app", "dialog")
        self.console.wait_for_text("No app yet")
        self.assertEqual(self.server.manage("GET", "/v1/apps")["items"], [])


class EveryPageTests(ProviderConsoleCase):
    def show_everything(self):
        """Fills the pages, and shows each of them in turn."""
        shop = self.make_shop(2)
        shop.register("phone-0", 0, user="anna", languages=["sv", "en"], tags=["news", "sv"])
        shop.register("broken", "00" * 32)
        shop.send(sendAt=self.driver.execute_script("return new Date(Date.now() + 864e5).toISOString()"))
        message = shop.send()
        self.server.manage("POST", "/v1/hooks", {"bundleID": shop.bundle_id, "url": "http://127.0.0.1:9/events"})
        self.console.wait(lambda: shop.message(message)["state"] == "finished")
        for page in self.console.pages():
            self.console.show("#/" + page)
            self.console.wait(lambda: self.console.one("#nav [aria-current]").get_attribute("hash") == "#/" + page)
            self.console.wait(lambda: self.console.all("main .card, main .space .row, main .empty"), page)
            if page == "compose":
                self.console.click("[name=everybody]")
                self.console.field("aps-body", "Text")
                self.console.press("Dry run")
                self.console.wait_for_text("would get it now.")
            yield page
        self.console.show(f"#/installations?app={shop.bundle_id}&find=anna")
        self.console.wait_for_text("Active", ".card")
        yield "installation"
        self.open_message(message)
        self.console.wait(lambda: self.console.cells(".recipients td:first-child") != [])
        yield "message"

    def test_every_page_is_readable_light_and_dark_wide_and_narrow(self):
        for _ in self.show_everything():
            self.check_readable()

    def test_every_page_has_names_for_screen_readers(self):
        for page in self.show_everything():
            self.check_names()
            title = self.driver.title
            self.assertTrue(title.endswith(" · Carillon"), page)
        # A 404 is an answer that the page asks for, and no fault.
        faults = [each for each in self.driver.get_log("browser") if each["level"] == "SEVERE" and each["source"] != "network"]
        self.assertEqual(faults, [])

    def test_the_tab_key_reaches_the_pages_and_the_skip_link_comes_first(self):
        self.make_shop(1)
        self.driver.execute_script("document.activeElement.blur()")
        names = []
        for _ in range(10):
            self.driver.switch_to.active_element.send_keys(Keys.TAB)
            names.append(self.driver.switch_to.active_element.text)
        self.assertEqual(names[0], "Skip to the content")
        self.assertEqual(names[2:9], ["Messages", "New message", "Audiences", "Channels", "Installations", "Hooks", "Apps"])

    def test_texts_of_strangers_stay_texts(self):
        shop = self.make_shop(1)
        for number, text in enumerate(INJECTIONS):
            shop.register(f"stranger-{number}", f"{number + 1:02}" * 32, user=text[:120], appVersion=text[:120], values={"name": text})
        message = shop.send(payload={"aps": {"alert": {"title": INJECTIONS[0], "body": INJECTIONS[1]}}, "more": [text for text in INJECTIONS if "{{" not in text]})
        self.console.show("#/messages")
        self.console.wait_for_title(INJECTIONS[0])
        self.check_nothing_harmful()
        self.open_message(message)
        self.check_nothing_harmful()
        for text in INJECTIONS:
            self.driver.execute_script("location.hash = '#/installations?' + new URLSearchParams({ app: arguments[0], find: arguments[1] })", shop.bundle_id, text[:120])
            self.console.wait(lambda: self.console.all(".card") or "Nothing found" in self.console.text())
            self.check_nothing_harmful()

    def test_a_server_without_an_app_says_what_to_do_first(self):
        for page, text in [("messages", "No app yet"), ("compose", "No app yet"), ("audiences", "No app yet"), ("installations", "No app yet"), ("hooks", "No app yet"), ("apps", "No app yet")]:
            self.console.show("#/" + page)
            self.console.wait_for_text(text)
        self.console.show("#/messages")
        self.console.wait(lambda: self.driver.find_element("link text", "Add an app")).click()
        self.console.wait(lambda: self.console.one("main h1").text == "Apps")


class SigningInTests(ProviderConsoleCase):
    def test_the_command_prints_a_link_and_signs_all_browsers_out(self):
        link = json.loads(self.server.command("console", "--json"))["url"]
        self.driver.delete_all_cookies()
        self.driver.get(self.server.url + "/console")
        self.console.wait_for_text("carillon provider console", "main")
        self.driver.get(link)
        self.console.wait(lambda: self.console.one("#nav").is_displayed())
        # The code does not stay in the address.
        self.assertEqual(self.driver.current_url, self.server.url + "/console")
        self.assertIn("Sessions ended", self.server.command("console", "--end"))
        self.console.wait(lambda: self.console.one("main h1").text == "Sign in")
        self.driver.get(link)
        self.console.wait_for_text("This link was used already", "main")

    def test_signing_out_ends_the_session(self):
        self.console.press("Sign out")
        self.console.wait(lambda: self.console.one("main h1").text == "Sign in")
        self.driver.refresh()
        self.console.wait(lambda: self.console.one("main h1").text == "Sign in")

    def test_if_the_server_ends_the_page_says_so_and_goes_on_after_a_new_start(self):
        port = self.server.port
        self.server.end()
        try:
            self.console.wait_for_text("does not answer", "[role=alert]")
        finally:
            self.server.start(port)
        # Sessions end with the server.
        self.console.wait(lambda: self.console.one("main h1").text == "Sign in")


if __name__ == "__main__":
    unittest.main()
