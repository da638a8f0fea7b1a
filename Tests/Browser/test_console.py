"""Tests the console's list of notifications in a real browser, while a real client sends."""

import datetime
import unittest

from selenium.webdriver.common.keys import Keys

from browser import INJECTIONS, Console, ConsoleCase, Service, chromium, show_as


class ConsoleTests(ConsoleCase):
    def test_a_link_signs_in_once(self):
        self.driver.delete_all_cookies()
        link = self.console.link()
        self.driver.get(link)
        self.console.wait(lambda: self.console.one("h1").text == "Notifications")
        self.assertTrue(self.driver.current_url.endswith("/console"))
        self.driver.delete_all_cookies()
        self.driver.get(link)
        self.console.wait(lambda: "used already" in self.console.one(".sign-in").text)
        self.assertNotIn("code=", self.driver.current_url)

    def test_signing_out_ends_the_session(self):
        cookie = self.driver.get_cookies()[0]
        self.assertTrue(cookie["httpOnly"])
        self.assertEqual(cookie["sameSite"], "Strict")
        self.console.click("#sign-out")
        self.console.wait(lambda: self.console.one(".sign-in h1").text == "Sign in")
        self.assertEqual(self.driver.get_cookies(), [])

    def test_what_a_client_sends_appears(self):
        self.console.wait(lambda: "Nothing was sent yet" in self.console.one("main").text)
        self.send("Your order is ready")
        self.console.wait_for_title("Your order is ready")
        row = self.console.one(".space .row")
        self.assertIn(self.provider.account.bundle_id, row.text)
        self.console.wait(lambda: row.find_element("css selector", ".device").text == "phone")
        self.console.wait(lambda: self.console.one(".space .badge").text == "Delivered")
        # The time is local, and the exact one is there for whoever hovers.
        self.assertRegex(row.find_element("css selector", "time").get_attribute("title"), r"^[0-9-]{10}T[0-9:.]+Z$")

    def test_a_rejection_says_what_to_do(self):
        self.assertEqual(self.provider.send({"aps": {"alert": "Lost"}}, token="00" * 32), 400)
        self.console.wait_for_title("Lost")
        self.console.wait(lambda: "forget the device token" in self.console.one(".space .badge").get_attribute("title"))
        self.console.open("Lost")
        callout = self.console.one(".callout").text
        self.assertIn("400 BadDeviceToken", callout)
        self.assertIn("The device token does not belong to this environment.", callout)
        self.assertIn("forget the device token", callout)

    def test_the_address_bar_holds_the_filter(self):
        self.send("First order")
        self.send("Second parcel")
        self.provider.send({"aps": {"alert": "Third"}}, token="00" * 32)
        self.console.wait_for_title("Third")
        self.console.one("[name=text]").send_keys("parcel")
        self.console.wait(lambda: self.console.titles() == ["Second parcel"])
        self.assertTrue(self.driver.current_url.endswith("#/notifications?text=parcel"))
        self.driver.refresh()
        self.console.wait(lambda: self.console.titles() == ["Second parcel"])
        connection = self.service.manage("GET", "/v1/requests")[0]["connection"]
        for query, titles in [
            ("outcome=rejected", ["Third"]), ("reason=BadDeviceToken", ["Third"]), ("status=400", ["Third"]),
            (f"app={self.provider.account.bundle_id}&outcome=delivered", ["Second parcel", "First order"]),
            (f"device={self.provider.account.device_id}", ["Second parcel", "First order"]),
            ("device=phone", ["Second parcel", "First order"]),
            # All words, words that belong together, and words that must not be there.
            ("text=order+first", ["First order"]), ("text=%22order+first%22", []), ("text=%22first+order%22", ["First order"]),
            ("text=com.example+-parcel+-third", ["First order"]),
            (f"connection={connection}", ["First order"]),
        ]:
            self.console.show(f"#/notifications?{query}")
            self.console.wait(lambda: self.console.titles() == titles, query)
        self.console.show("#/notifications?text=nowhere")
        self.console.wait(lambda: "No notification matches" in self.console.one(".empty").text)

    def test_one_notification_shows_all_of_it(self):
        self.send("Look inside", apns_priority="5", x_mine="yes")
        self.console.open("Look inside")
        text = self.console.one(".detail").text
        for part in ["content-length", "x-mine", "apns-priority", self.provider.token, self.provider.account.key_id, "HTTP/2", '"body": "Text"']:
            self.assertIn(part, text)
        self.console.wait(lambda: "Taken by the device" in self.console.one(".timeline").text)
        self.assertIn("later", self.console.one(".timeline").text)
        self.assertNotIn(self.provider.authorization().rsplit(".", 1)[1], text)

    def test_a_payload_is_shown_and_copied_as_it_was_sent(self):
        sent = '{"z":[1.50,12345678901234567890],"aps":{"alert":"As it is"},"a":{}}'
        self.assertEqual(self.provider.send(sent), 200)
        self.console.open("As it is")
        shown = '{\n  "z": [\n    1.50,\n    12345678901234567890\n  ],\n  "aps": {\n    "alert": "As it is"\n  },\n  "a": {}\n}'
        self.console.wait(lambda: self.console.one("pre[aria-label=Payload]").get_property("textContent") == shown)
        self.assertIn(f"{len(sent)} bytes", self.console.text())
        self.listen_to_copies()
        self.console.press("Copy the payload")
        self.console.wait(lambda: self.driver.execute_script("return window.copied") == shown)
        self.console.press("Copy as curl")
        self.console.wait(lambda: sent in self.driver.execute_script("return window.copied"))

    def test_a_body_that_is_no_json_is_shown(self):
        self.assertEqual(self.provider.send('{"aps":<b>'), 400)
        self.console.open("No aps dictionary")
        self.console.wait_for_text("not a JSON dictionary")
        self.assertEqual(self.console.one("pre[aria-label=Payload]").text, '{"aps":<b>')
        self.assertFalse(self.console.button("Send again").is_enabled())
        self.check_nothing_harmful()

    def test_of_a_body_that_is_too_large_the_beginning_and_the_size_are_shown(self):
        # The 4,096th byte is the first half of a letter, which is not shown.
        body = '{"aps":{"alert":"' + "ä" * 3000 + '"}}'
        size = len(body.encode())
        self.assertEqual(self.provider.send(body), 413)
        self.console.open("Body too large")
        self.console.wait_for_text(f"The first 4,095 of {size:,} bytes:")
        self.assertEqual(self.console.one("pre[aria-label=Payload]").get_property("textContent"), body.encode()[:4095].decode())
        self.assertNotIn("not a JSON dictionary", self.console.text())
        self.assertNotIn("no body", self.console.text())
        self.assertFalse(self.console.button("Send again").is_enabled())

    def test_without_content_length_the_size_of_a_body_that_is_too_large_is_at_least_what_came(self):
        # With this header curl sends no content-length.
        self.assertEqual(self.provider.send('{"aps":{"alert":"' + "x" * 5000 + '"}}', transfer_encoding="chunked"), 413)
        self.console.open("Body too large")
        self.console.wait(lambda: self.console.one("pre[aria-label=Payload]"))
        self.assertRegex(self.console.text(), r"The first 4,096 of at least [45],[0-9]{3} bytes:")

    def test_all_times_of_a_page_are_of_one_zone(self):
        # No machine that runs the tests has this zone.
        zone = datetime.timezone(datetime.timedelta(hours=5, minutes=45))
        self.driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": "Asia/Kathmandu"})
        try:
            self.console.sign_in()
            self.send("What time is it")
            for page in ["#/notifications", None, f"#/device/{self.provider.account.device_id}"]:
                if page is None:
                    self.console.open("What time is it")
                    self.console.wait_for_text("Taken by the device", ".timeline")
                else:
                    self.console.show(page)
                    self.console.wait_for_text("What time is it")
                times = [(each.get_attribute("datetime"), each.text) for each in self.console.all("main time") if each.is_displayed()]
                self.assertNotEqual(times, [], page)
                for exact, shown in times:
                    local = datetime.datetime.fromisoformat(exact).astimezone(zone)
                    # With twelve or with twenty-four hours, as the browser's language has it.
                    self.assertRegex(shown, f"{local:%H:%M:%S}|{local:%I:%M:%S}", page)
        finally:
            self.driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": ""})

    def test_the_command_of_the_empty_list_is_whole(self):
        self.console.wait_for_text("carillon send --token", ".empty pre")
        for width in (1280, 360):
            show_as(self.driver, width)
            self.console.wait(lambda: self.driver.execute_script("return innerWidth") == width)
            # A part of it that is out of sight could only be found by scrolling.
            hidden = "const pre = document.querySelector('.empty pre'); return pre.scrollWidth - pre.clientWidth"
            self.assertLessEqual(self.driver.execute_script(hidden), 0, f"at {width}")
        show_as(self.driver)

    def test_a_narrow_screen_shows_that_the_navigation_goes_on(self):
        script = """
            const nav = document.querySelector('#nav');
            const shown = [...nav.querySelectorAll('a')].filter(link => link.getClientRects().length > 0);
            return {
              mask: getComputedStyle(nav).maskImage, isCut: nav.scrollWidth > nav.clientWidth,
              // How far the last link ends before the edge.
              room: nav.getBoundingClientRect().right - shown.at(-1).getBoundingClientRect().right };"""
        show_as(self.driver, 360)
        try:
            self.console.wait(lambda: self.driver.execute_script("return innerWidth") == 360)
            nav = self.driver.execute_script(script)
            self.assertTrue(nav["isCut"])
            self.assertIn("linear-gradient", nav["mask"])
            self.assertLess(nav["room"], 0)
            # At its end nothing fades out any more.
            self.driver.execute_script("document.querySelector('#nav').scrollLeft = 10000")
            self.assertGreaterEqual(self.driver.execute_script(script)["room"], 40)
        finally:
            show_as(self.driver)
        self.console.wait(lambda: self.driver.execute_script("return innerWidth") == 1280)
        nav = self.driver.execute_script(script)
        self.assertEqual((nav["isCut"], nav["mask"]), (False, "none"))

    def listen_to_copies(self):
        self.driver.execute_script(
            "navigator.clipboard.writeText = text => { window.copied = text; return Promise.resolve(); }")

    def test_what_changes_leaves_the_focus_where_it_is(self):
        self.provider.account.behave(kind="offline")
        self.send("Later")
        self.console.open("Later")
        self.console.wait_for_text("Stored until the device connects", ".timeline")
        button = self.console.button("Copy as curl")
        self.driver.execute_script("arguments[0].focus()", button)
        self.provider.account.behave(kind="online")
        self.console.wait_for_text("Delivered", ".under .badge")
        self.console.wait_for_text("Taken by the device", ".timeline")
        self.assertEqual(self.driver.switch_to.active_element, button)

    def test_from_one_to_the_next_with_the_arrow_keys(self):
        for number in range(4):
            self.provider.send({"aps": {"alert": f"Step {number}"}}, token="00" * 32 if number == 2 else None)
        self.console.wait_for_title("Step 3")
        # The neighbours are those of the list as it is filtered.
        self.console.show("#/notifications?outcome=delivered")
        self.console.wait(lambda: self.console.titles() == ["Step 3", "Step 1", "Step 0"])
        self.console.open("Step 1")
        for key, title in [(Keys.ARROW_LEFT, "Step 3"), (Keys.ARROW_RIGHT, "Step 1"), (Keys.ARROW_RIGHT, "Step 0"), (Keys.ARROW_RIGHT, "Step 0")]:
            self.console.wait(lambda: self.driver.switch_to.active_element.tag_name == "h1")
            self.driver.switch_to.active_element.send_keys(key)
            self.console.wait(lambda: self.console.one("h1").text == title, title)
        self.driver.switch_to.active_element.send_keys(Keys.ESCAPE)
        self.console.wait(lambda: self.console.titles() == ["Step 3", "Step 1", "Step 0"])
        self.driver.switch_to.active_element.send_keys(Keys.CONTROL, "k")
        self.assertEqual(self.driver.switch_to.active_element.get_attribute("name"), "text")

    def test_the_list_is_cleared_after_a_question(self):
        self.send("Old")
        self.console.wait_for_title("Old")
        self.console.press("Clear")
        self.console.wait_for_text("The journal forgets 1 notification", "dialog")
        self.console.press("Clear", "dialog")
        self.console.wait_for_text("Nothing was sent yet")
        self.assertEqual(self.service.manage("GET", "/v1/requests"), [])
        self.send("New")
        self.console.wait_for_title("New")

    def test_the_title_counts_what_nobody_saw(self):
        self.send("Seen")
        self.console.wait_for_title("Seen")
        # Without a screen every tab is in sight.
        hide = "Object.defineProperty(document, 'hidden', { value: arguments[0], configurable: true }); " \
            "document.dispatchEvent(new Event('visibilitychange'))"
        self.driver.execute_script(hide, True)
        self.assertEqual(self.driver.title, "Notifications · Carillon")
        self.send("Unseen")
        self.console.wait(lambda: self.driver.title == "(1) Notifications · Carillon", "a title with (1)")
        self.driver.execute_script(hide, False)
        self.console.wait(lambda: self.driver.title == "Notifications · Carillon", "a title without a number")

    def test_send_again(self):
        self.send("Once more")
        self.console.open("Once more")
        self.console.click(".actions .primary")
        self.console.wait(lambda: "Sent again." in self.console.one(".result").text)
        # The list shows it too, as sent without a provider.
        self.console.show("#/notifications")
        self.console.wait(lambda: self.console.titles() == ["Once more", "Once more"])
        requests = self.service.manage("GET", "/v1/requests")
        self.assertEqual([request["protocol"] for request in requests], ["h2", "management"])

    def test_copy_as_curl(self):
        self.send("It's mine")
        self.console.open("It's mine")
        self.listen_to_copies()
        self.console.press("Copy as curl")
        copied = self.console.wait(lambda: self.driver.execute_script("return window.copied"))
        self.assertIn(f"/3/device/{self.provider.token}", copied)
        self.assertIn("It'\\''s mine", copied)
        # A body that begins with @ must not make curl read a file.
        self.assertIn("--data-raw", copied)
        self.assertIn("--globoff", copied)
        self.assertIn("bearer $(carillon key token)", copied)

    def test_markup_from_strangers_is_text(self):
        for injection in INJECTIONS:
            self.assertEqual(self.provider.send({
                "aps": {"alert": {"title": injection, "body": injection}, injection: injection}, injection: [injection]},
                x_mine=injection.encode("ascii", "ignore").decode()), 200)
        self.provider.send({"aps": {"alert": "<b>"}}, token="%3Cscript%3E", apns_topic="<img src=x onerror=harmed=1>")
        for injection in INJECTIONS:
            self.console.wait_for_title(injection)
        for injection in INJECTIONS:
            self.console.show("#/notifications")
            self.console.open(injection)
        self.console.show("#/notifications")
        self.console.open("<b>")
        self.console.show(f"#/notifications?text={INJECTIONS[0]}&app={INJECTIONS[1]}")
        self.console.show(f"#/notification/{INJECTIONS[0]}")
        self.console.wait(lambda: "not there" in self.console.one("main").text)
        self.check_nothing_harmful()

    def test_the_keyboard_is_enough(self):
        for number in range(3):
            self.send(f"Key {number}")
        self.console.wait(lambda: self.console.titles() == ["Key 2", "Key 1", "Key 0"])
        self.driver.execute_script("document.activeElement.blur()")
        names = []
        for _ in range(24):
            focused = self.driver.switch_to.active_element
            focused.send_keys(Keys.TAB)
            focused = self.driver.switch_to.active_element
            names.append(focused.accessible_name)
            if focused.text == "Key 2":
                break
        self.assertEqual(self.driver.switch_to.active_element.text, "Key 2")
        for name in ["Skip to the content", "Devices", "Service", "Sign out", "Search", "Outcome", "Reason"]:
            self.assertIn(name, names)
        self.driver.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
        self.assertEqual(self.driver.switch_to.active_element.text, "Key 1")
        self.driver.switch_to.active_element.send_keys(Keys.ENTER)
        self.console.wait(lambda: self.driver.switch_to.active_element.tag_name == "h1")
        self.assertEqual(self.driver.switch_to.active_element.text, "Key 1")
        self.driver.back()
        self.console.wait(lambda: self.driver.switch_to.active_element.text == "Key 1")

    def test_two_tabs_share_one_stream(self):
        first = self.driver.current_window_handle
        self.driver.switch_to.new_window("tab")
        try:
            self.driver.get(self.service.url + "/console")
            self.console.wait(lambda: self.console.one("#live").text == "Live")
            streams = self.driver.execute_script(
                "return performance.getEntriesByType('resource').filter(entry => entry.name.includes('follow')).length")
            self.assertEqual(streams, 0)
            self.send("In both")
            self.console.wait_for_title("In both")
        finally:
            self.driver.close()
            self.driver.switch_to.window(first)
        self.console.wait_for_title("In both")

    def test_the_next_tab_leads_when_the_first_one_closes(self):
        first = self.driver.current_window_handle
        self.driver.switch_to.new_window("tab")
        second = self.driver.current_window_handle
        self.driver.get(self.service.url + "/console")
        self.console.wait(lambda: self.console.one("#live").text == "Live")
        self.driver.switch_to.window(first)
        self.driver.close()
        self.driver.switch_to.window(second)
        self.send("To the second")
        self.console.wait_for_title("To the second")

    def test_whoever_signs_in_again_is_signed_in_in_all_tabs(self):
        first = self.driver.current_window_handle
        self.driver.switch_to.new_window("tab")
        try:
            self.driver.get(self.service.url + "/console")
            self.console.wait(lambda: self.console.one("#live").text == "Live")
            self.service.manage("DELETE", "/v1/console/sessions")
            # Both tabs notice, and one of them signs in.
            for tab in [first, self.driver.current_window_handle]:
                self.driver.switch_to.window(tab)
                self.console.wait(lambda: self.console.one(".sign-in h1").text == "Sign in")
            self.console.sign_in()
            self.send("Again")
            self.console.wait_for_title("Again")
        finally:
            self.driver.close()
            self.driver.switch_to.window(first)
        self.console.wait(lambda: self.console.one("#live").text == "Live")
        self.console.wait_for_title("Again")

    def test_the_delivery_log_is_shown_beside_the_journal(self):
        self.send("With a title")
        self.console.wait_for_title("With a title")
        self.console.press("Delivery log")
        self.console.wait_for_text("of all environments", ".notice")
        self.console.wait_for_text("Delivered", ".list")
        self.assertNotIn("With a title", self.console.titles())
        # What the journal has, can be opened all the same.
        number = self.service.manage("GET", "/v1/requests")[0]["number"]
        self.console.show(f"#/notification/r{number}", "With a title")
        self.console.show("#/notifications", "Notifications")
        self.console.press("Show the journal")
        self.console.wait_for_title("With a title")

    def test_what_comes_is_not_read_out(self):
        """Live regions speak of what somebody does, and not of each row."""
        self.driver.execute_script("""
            window.spoken = [];
            new MutationObserver(changes => changes.forEach(change => {
              const region = (change.target.nodeType === 1 ? change.target : change.target.parentElement)?.closest('[aria-live], [role=status], [role=alert]');
              if (region) window.spoken.push(region.textContent);
            })).observe(document.body, { subtree: true, childList: true, characterData: true });""")
        for number in range(3):
            self.send(f"Quiet {number}")
        self.console.wait_for_title("Quiet 2")
        self.console.wait(lambda: {each.text for each in self.console.all(".space .badge")} == {"Delivered"})
        self.assertEqual(self.driver.execute_script("return window.spoken"), [])
        self.console.choose("outcome", "rejected")
        self.console.wait(lambda: self.driver.execute_script("return window.spoken") == ["Shown: 0 of 3"])

    def test_without_a_journal_the_delivery_log_is_shown_and_the_journal_offered(self):
        self.service.manage("PUT", "/v1/journal", {"keep": 0})
        self.driver.refresh()
        self.console.wait(lambda: "The journal is off" in self.console.one(".notice").text)
        self.send("Not to be seen")
        self.console.wait(lambda: "Delivered" in self.console.one(".list").text)
        self.assertNotIn("Not to be seen", self.console.one("main").text)
        self.console.click(".notice button")
        self.console.wait(lambda: not self.console.one(".notice").is_displayed())
        self.send("Now seen")
        self.console.wait_for_title("Now seen")

    def test_ten_thousand_rows_are_a_window(self):
        self.driver.execute_script("""
            window.said = '';
            const place = document.querySelector('.heading .hint');
            new MutationObserver(() => { window.said ||= place.textContent; }).observe(place, { childList: true });""")
        self.provider.send_many(10_000)
        self.console.wait(lambda: self.console.one(".count").text == "10,000", self.console.one(".count").text)
        # The service showed a sample meanwhile, and the page said so until the list was whole.
        self.assertRegex(self.driver.execute_script("return window.said"), "^Too many to show all of them: [0-9,]+ left out for now$")
        self.console.wait(lambda: self.console.one(".heading .hint").text == "")
        # Scrolls from end to end, a screen in each picture; every one of them shows rows, and few are in the document.
        result = self.driver.execute_async_script("""
            const done = arguments[arguments.length - 1];
            const viewport = document.querySelector('.viewport');
            let most = 0, empty = 0, steps = 0;
            const step = () => {
              const rows = [...viewport.querySelectorAll('.row')];
              const box = viewport.getBoundingClientRect();
              most = Math.max(most, rows.length);
              if (!rows.some(row => { const r = row.getBoundingClientRect(); return r.bottom > box.top && r.top < box.bottom; })) empty += 1;
              steps += 1;
              if (steps === 100) return done([most, empty, viewport.scrollTop > 0]);
              viewport.scrollTop = viewport.scrollHeight * steps / 100;
              requestAnimationFrame(() => requestAnimationFrame(step));
            };
            step();""")
        self.assertLess(result[0], 80)
        self.assertEqual(result[1:], [0, True])

    def test_both_colour_schemes_and_a_narrow_screen_can_be_read(self):
        self.console.wait_for_text("Nothing was sent yet")
        self.check_readable()
        self.send("To be read")
        self.provider.send({"aps": {"alert": "Refused"}}, token="00" * 32)
        self.console.wait_for_title("Refused")
        self.check_readable()
        for fragment, text in [("#/notifications?text=nowhere", "No notification matches"), ("#/notification/r9999", "not there any more")]:
            self.console.show(fragment)
            self.console.wait_for_text(text)
            self.check_readable()
        self.driver.delete_all_cookies()
        self.driver.refresh()
        self.console.wait_for_text("carillon console")
        self.check_readable()

    def test_no_violation_of_the_content_policy_is_logged(self):
        self.send("Quiet")
        self.console.open("Quiet")
        self.console.wait(lambda: "Taken by the device" in self.console.one(".timeline").text)
        # The browser also logs the refused sign-ins of earlier tests, which those tests expected.
        logged = [entry["message"] for entry in self.driver.get_log("browser") if "status of" not in entry["message"]]
        self.assertEqual(logged, [])


class EndedServiceTests(unittest.TestCase):
    def test_the_empty_list_says_that_the_service_is_gone(self):
        service = Service()
        driver = chromium()
        try:
            console = Console(service, driver)
            console.sign_in()
            console.wait_for_text("Nothing was sent yet", ".empty")
            service.stop()
            console.wait_for_text("The service does not answer", ".empty")
            # Nobody knows what was sent meanwhile.
            self.assertNotIn("Nothing was sent yet", console.text())
        finally:
            driver.quit()
            if service.process.poll() is None:
                service.stop()


if __name__ == "__main__":
    unittest.main()
