"""Tests the page of grants, and the release of captured notifications, in a real browser."""

import json
import pathlib
import subprocess
import tempfile
import urllib.error

from browser import INJECTIONS, ConsoleCase, Service
from service import Account


class GatewayCase(ConsoleCase):
    def setUp(self):
        super().setUp()
        self.app = self.provider.account.bundle_id

    def make(self, name, **limits):
        return self.service.manage("POST", "/v1/grants", {"bundleID": self.app, "name": name, **limits})

    def grant(self, made):
        return self.service.manage("GET", f"/v1/grants/{made['grant']}")

    def ask(self, path, body, authorization=None):
        """A request to the provider API's port, as a phone or an instance sends it."""
        command = ["curl", "--silent", "--http2", "--cacert", str(self.provider.account.authority_file), "--data", json.dumps(body)]
        if authorization:
            command += ["--header", f"authorization: bearer {authorization}"]
        command.append(f"https://localhost:{self.provider.account.port}{path}")
        return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)

class GrantsTests(GatewayCase):
    def open(self, *grants):
        """Opens the page of all grants, and waits for some of them."""
        self.console.show("#/notifications")
        self.console.show("#/grants", "Grants")
        for grant in grants:
            self.console.wait(lambda: self.console.one(self.line(grant)))

    def line(self, made):
        """The selector of a grant's row in the table."""
        return f".grants .row[data-key={made['grant']}]"

    def open_one(self, made, name):
        self.console.show("#/notifications")
        self.console.show(f"#/grant/{made['grant']}", name)

    def test_a_grant_is_shown_with_its_limits_and_numbers(self):
        made = self.make(
            INJECTIONS[1], rate=20, daily=50000, encryptedOnly=True, priorities=[5, 10], maximumHandles=7,
            topics=[self.app], payloadBytes=2000)
        self.ask("/1/handles", {
            "bundleID": self.app, "environment": "development", "token": "5a" * 32}, made["clientKey"])
        self.open(made)
        for text in [INJECTIONS[1], self.app, "1 of 7", "Active"]:
            self.console.wait_for_text(text, self.line(made))
        self.check_nothing_harmful()
        self.check_readable()
        self.console.click(self.line(made) + " a")
        for text in [
            INJECTIONS[1], made["grant"], self.app, made["keyID"], "20 a second", "50,000 a day", "encrypted payloads only",
            "priority 5, 10", "2,000 bytes", "1 of 7", "0 notifications", "nothing sent yet",
            "aps.alert.loc-key",
        ]:
            self.console.wait_for_text(text)
        # The client key and the key of the instance are not shown.
        self.assertNotIn(made["clientKey"], self.driver.page_source)
        self.check_nothing_harmful()
        self.check_names()
        self.check_readable()

    def test_a_thousand_grants_are_searched_sorted_and_filtered(self):
        made = [self.make(f"many-{number:04}", daily=number + 1) for number in range(1000)]
        self.ask("/1/handles", {
            "bundleID": self.app, "environment": "development", "token": "5a" * 32}, made[700]["clientKey"])
        self.service.manage("PATCH", f"/v1/grants/{made[500]['grant']}", {"suspended": True})
        self.open()
        self.console.write("search", "MANY-")
        self.console.wait(lambda: self.console.one(".count").text.startswith("1,000"))
        self.console.choose("sort", "name")
        self.console.wait(lambda: self.console.titles()[:2] == ["many-0000", "many-0001"])
        # Only the rows in sight are elements of the page.
        self.assertLess(len(self.console.all(".grants .row")), 100)
        self.console.choose("sort", "handles")
        self.console.wait(lambda: self.console.titles()[0] == "many-0700")
        self.console.choose("which", "suspended")
        self.console.wait(lambda: self.console.titles() == ["many-0500"])
        self.console.choose("which", "all")
        self.console.write("search", made[300]["grant"])
        self.console.wait(lambda: self.console.titles() == ["many-0300"])
        self.console.write("search", "nobody has this")
        self.console.wait_for_text("No grant matches")

    def test_a_grant_is_changed(self):
        made = self.make("before", rate=5, daily=9)
        self.open_one(made, "before")
        self.console.press("Change")
        self.console.wait(lambda: self.console.one("dialog [name=rate]").get_property("value") == "5")
        self.console.write("name", "after", "dialog")
        self.console.write("rate", "7", "dialog")
        self.console.write("daily", "", "dialog")
        self.console.choose("registration", "code")
        self.console.press("Change the grant", "dialog")
        self.console.wait(lambda: self.console.all("dialog") == [])
        for text in ["after", "7 a second", "registration by code"]:
            self.console.wait_for_text(text)
        grant = self.grant(made)
        self.assertEqual((grant["name"], grant["rate"], grant.get("daily"), grant["registration"]), ("after", 7, None, "code"))

    def test_a_grant_gets_each_form_of_encrypted_payloads(self):
        made = self.make("forms", encryptedOnly={"keys": {"room": "identifier", "box": "opaque"}})
        self.open_one(made, "forms")

        def change(form, keys=None):
            self.console.press("Change")
            self.console.wait(lambda: self.console.one("dialog [name=encryptedOnly]"))
            self.console.choose("encryptedOnly", form)
            self.assertEqual(self.console.one("dialog [name=encryptedKeys]").is_displayed(), form == "keys")
            if keys is not None:
                self.console.write("encryptedKeys", keys, "dialog")
            self.console.press("Change the grant", "dialog")

        def changed(expected):
            self.console.wait(lambda: self.console.all("dialog") == [])
            self.assertEqual(self.grant(made).get("encryptedOnly", False), expected)

        # What is there is shown, and stays if nothing is chosen.
        self.console.press("Change")
        self.console.wait(lambda: self.console.one("dialog [name=encryptedOnly]").get_property("value") == "keys")
        shown = self.console.one("dialog [name=encryptedKeys]").get_property("value")
        self.assertEqual(set(shown.split(", ")), {"room=identifier", "box=opaque"})
        self.console.press("Change the grant", "dialog")
        changed({"keys": {"room": "identifier", "box": "opaque"}})
        for form, expected in (("web-push", "web-push"), ("matrix", "matrix"), ("true", True), ("false", False)):
            change(form)
            changed(expected)
        change("keys", " p = opaque,n=number")
        changed({"keys": {"p": "opaque", "n": "number"}})
        # What the service refuses is said in the dialog.
        change("keys", "p=anything")
        self.console.wait_for_text("opaque", "dialog")

    def test_keys_are_replaced(self):
        made = self.make("keys")
        self.open_one(made, "keys")
        self.console.wait_for_text(made["keyID"])
        self.console.press("Add a key")
        self.console.press("Add the key", "dialog")
        self.console.wait_for_text("PRIVATE KEY", "dialog")
        self.console.press("Close", "dialog")
        self.console.wait(lambda: self.console.all("dialog") == [])
        self.console.click(f"[aria-label='End {made['keyID']}']")
        self.console.press("End the key", "dialog")
        self.console.wait(lambda: made["keyID"] not in self.console.text())
        self.console.press("Add a client key")
        self.console.press("Add the client key", "dialog")
        self.console.wait_for_text("ck_", "dialog code")
        self.console.press("Close", "dialog")
        self.console.wait(lambda: self.console.all("dialog") == [])
        self.assertEqual([key["kind"] for key in self.grant(made)["keys"]], ["provider", "client", "client"])

    def test_a_handle_is_removed(self):
        made = self.make("handles")
        handle = self.ask("/1/handles", {
            "bundleID": self.app, "environment": "development", "token": "5a" * 32}, made["clientKey"])["handle"]
        self.open_one(made, "handles")
        self.console.wait_for_text(handle)
        self.console.click(f"[aria-label='Remove {handle}']")
        self.console.press("Remove the handle", "dialog")
        self.console.wait(lambda: handle not in self.console.text())
        self.assertEqual(self.grant(made)["handles"], 0)

    def test_a_grant_is_suspended_resumed_and_revoked(self):
        made = self.make("chat.example.org")
        self.open_one(made, "chat.example.org")
        self.console.press("Suspend")
        self.console.wait_for_text("403 InvalidProviderToken", "dialog")
        # Nothing happens until it is confirmed.
        self.assertFalse(self.grant(made)["suspended"])
        self.console.press("Suspend the grant", "dialog")
        self.console.wait_for_text("Suspended", ".grant .badge")
        self.assertTrue(self.grant(made)["suspended"])
        self.console.press("Resume")
        self.console.press("Resume the grant", "dialog")
        self.console.wait(lambda: self.console.button("Suspend"))
        self.assertFalse(self.grant(made)["suspended"])
        self.console.press("Revoke")
        self.console.wait_for_text("It cannot be undone", "dialog")
        self.console.press("Revoke the grant", "dialog")
        self.console.wait_for_text("Revoked", ".grant .badge")
        self.assertIn("revoked", self.grant(made))
        self.assertEqual([each.text for each in self.console.all(".grant button")], [])

    def test_an_instance_is_invited(self):
        self.open()
        self.console.press("Invite an instance")
        self.console.choose("bundleID", self.app)
        self.console.write("name", INJECTIONS[2], "dialog")
        self.console.write("rate", "3", "dialog")
        self.console.press("Make the code", "dialog")
        self.console.wait_for_text("The service does not show the code again", "dialog")
        self.check_nothing_harmful()
        code = self.console.one("dialog code").text
        self.console.press("Close", "dialog")
        self.console.wait(lambda: self.console.all("dialog") == [])
        key = subprocess.run(
            ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"], stdout=subprocess.PIPE,
            check=True).stdout
        public = subprocess.run(["openssl", "pkey", "-pubout"], input=key, stdout=subprocess.PIPE, check=True).stdout.decode()
        made = self.ask("/1/grants", {"code": code, "publicKey": public})
        self.open(made)
        self.console.wait_for_text(INJECTIONS[2], self.line(made))
        self.console.wait_for_text("3 a second", self.line(made))

    def test_a_mistake_is_said_where_it_was_made(self):
        self.open()
        self.console.press("Invite an instance")
        self.console.write("name", "x" * 201, "dialog")
        self.console.press("Make the code", "dialog")
        self.console.wait_for_text("200", "dialog [role=alert]")
        self.console.press("Cancel", "dialog")
        self.console.wait(lambda: self.console.all("dialog") == [])


class UpstreamCase(GatewayCase):
    """Another service plays Apple's, and has the phone."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.upstream = Service()
        cls.upstream_folder = tempfile.TemporaryDirectory()
        cls.phone = Account(cls.upstream, pathlib.Path(cls.upstream_folder.name), bundle_id=cls.provider.account.bundle_id)

    @classmethod
    def tearDownClass(cls):
        cls.upstream.stop()
        cls.upstream_folder.cleanup()
        super().tearDownClass()

    def setUp(self):
        super().setUp()
        self.upstream.ask("DELETE", "/v1/requests")
        self.path = f"/v1/apps/{self.app}/upstreams/development"
        self.address = f"https://127.0.0.1:{self.upstream.port()}"


class ForwardTests(UpstreamCase):
    def open(self):
        self.console.show("#/notifications")
        self.console.show("#/accounts", "Accounts")
        self.click(f"Forward {self.app}")
        self.console.choose("environment", "development")

    def click(self, label):
        """Clicks a button. The page may make it again meanwhile, so this tries until it can be clicked."""
        self.console.wait(lambda: self.console.one(f"[aria-label='{label}']").click() is None, label)

    def forward(self):
        """Presses the button of the dialog, and waits until it is closed."""
        self.console.press("Forward", "dialog")
        self.console.wait(lambda: self.console.all("dialog") == [])

    def value(self, name):
        return self.console.one(f"dialog [name={name}]").get_property("value")

    def test_an_upstream_is_set_changed_and_removed(self):
        self.open()
        self.console.choose("kind", "key")
        self.console.write("url", self.address, "dialog")
        self.console.write("authority", self.upstream.ready["caPEM"], "dialog")
        self.console.write("teamID", self.phone.team_id, "dialog")
        self.console.write("keyID", self.phone.key_id, "dialog")
        self.console.one("dialog [name=file]").send_keys(str(self.phone.key_file))
        self.forward()
        self.console.wait_for_text(f"development forwarded to {self.address}")
        self.send("Forwarded", token=self.phone.device_token)
        self.phone.wait(1, outcome="delivered")
        # The form shows what is set, and keeps the credentials.
        self.open()
        self.console.wait(lambda: self.value("url") == self.address)
        self.assertNotIn("PRIVATE KEY", self.driver.page_source)
        self.console.write("hold", "PT1H", "dialog")
        self.console.click("dialog [name=compare]")
        self.forward()
        upstream = self.service.manage("GET", self.path)
        self.assertEqual((upstream["hold"], upstream["compare"], upstream["capture"]), ("PT1H", True, False))
        self.assertEqual(upstream["credentials"], {"kind": "key", "teamID": self.phone.team_id, "keyID": self.phone.key_id})
        self.assertEqual(upstream["authority"].strip(), self.upstream.ready["caPEM"].strip())
        self.click(f"Forward no more {self.app} in development")
        self.console.wait_for_text("The credentials of the upstream are deleted", "dialog")
        self.console.press("Forward no more", "dialog")
        self.console.wait(lambda: self.console.all("dialog") == [])
        self.console.wait(lambda: "forwarded to" not in self.console.text())
        self.assertEqual(self.provider.send({"aps": {"alert": "Not forwarded"}}, token=self.phone.device_token), 400)

    def test_an_upstream_that_refuses_the_key_is_named(self):
        # Another key than the one that the upstream knows under this name.
        key = subprocess.run(
            ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"], stdout=subprocess.PIPE,
            check=True).stdout.decode()
        self.service.manage("PUT", self.path, {
            "url": self.address, "authority": self.upstream.ready["caPEM"],
            "credentials": {"kind": "key", "teamID": self.phone.team_id, "keyID": self.phone.key_id, "privateKey": key}})
        self.assertEqual(self.provider.send({"aps": {"alert": "Refused"}}, token=self.phone.device_token), 403)
        self.console.show("#/notifications")
        self.console.show("#/accounts", "Accounts")
        self.console.wait_for_text("The upstream refuses your key or certificate for development", "[role=alert]")
        self.console.wait_for_text("InvalidProviderToken", "[role=alert]")
        self.service.manage("DELETE", self.path)

    def test_a_mistake_is_said_where_it_was_made(self):
        self.open()
        self.console.choose("kind", "passthrough")
        self.console.wait(lambda: not self.console.one("dialog [name=keyID]").is_displayed())
        self.console.write("url", "http://127.0.0.1:1", "dialog")
        self.console.press("Forward", "dialog")
        self.console.wait_for_text("https", "dialog [role=alert]")
        self.console.press("Cancel", "dialog")
        self.console.wait(lambda: self.console.all("dialog") == [])


class WebPushTests(UpstreamCase):
    def setUp(self):
        super().setUp()
        self.settings = f"/v1/apps/{self.app}/web-push/development"

    def open(self):
        self.console.show("#/notifications")
        self.console.show("#/accounts", "Accounts")
        label = f"[aria-label='Web Push of {self.app}']"
        self.console.wait(lambda: self.console.one(label).click() is None, label)
        self.console.choose("environment", "development")
        self.console.wait(lambda: not self.console.one("dialog [name=template]").get_property("disabled"))

    def save(self):
        self.console.press("Save", "dialog")
        self.console.wait(lambda: self.console.all("dialog") == [])

    def value(self, name):
        return self.console.one(f"dialog [name={name}]").get_property("value")

    def test_a_template_is_set_changed_and_removed(self):
        self.open()
        self.console.write("template", '{"aps": {"alert": "x"}, "n": 1.50, "m": {"$webPush": "bodi"}}', "dialog")
        self.console.press("Save", "dialog")
        self.console.wait_for_text("body", "dialog [role=alert]")
        self.console.write("template", '{"aps": {', "dialog")
        self.console.press("Save", "dialog")
        self.console.wait_for_text("no JSON", "dialog [role=alert]")
        self.console.write("template", '{"aps": {"alert": "x"}, "n": 1.50, "m": {"$webPush": "body", "as": "z85"}}', "dialog")
        self.console.click("dialog [name=plain]")
        self.save()
        shown = self.service.manage("GET", self.settings)
        self.assertEqual((shown["plain"], shown["relayTo"]), (True, False))
        self.assertEqual(shown["template"]["m"], {"$webPush": "body", "as": "z85"})
        # The form shows what is set, and numbers keep their digits.
        self.open()
        self.console.wait(lambda: "1.50" in self.value("template"))
        self.console.write("template", "", "dialog")
        self.console.click("dialog [name=relayTo]")
        self.save()
        self.assertEqual(self.service.manage("GET", self.settings)["template"]["aps"]["alert"], "🎺")
        self.open()
        self.console.wait(lambda: "🎺" in self.value("template"))
        self.console.write("template", "", "dialog")
        for name in ("plain", "relayTo"):
            self.console.click(f"dialog [name={name}]")
        self.save()
        with self.assertRaises(urllib.error.HTTPError):
            self.service.ask("GET", self.settings)


class CapturedTests(UpstreamCase):
    def setUp(self):
        super().setUp()
        self.service.manage("PUT", self.path, {
            "url": self.address, "authority": self.upstream.ready["caPEM"], "capture": True,
            "credentials": {
                "kind": "key", "teamID": self.phone.team_id, "keyID": self.phone.key_id, "privateKey": self.phone.private_key}})

    def test_a_captured_notification_is_released_to_the_device(self):
        self.send("To be released", token=self.phone.device_token)
        self.console.open("To be released")
        self.console.wait_for_text("Captured", ".detail")
        self.assertEqual(self.upstream.manage("GET", "/v1/requests"), [])
        self.console.press("Release to the device", ".detail")
        self.console.wait_for_text("The upstream has accepted it.", ".detail .result")
        (request,) = self.phone.wait(1, outcome="delivered")
        self.assertEqual(request["payload"]["aps"]["alert"]["title"], "To be released")

    def test_the_answer_of_the_upstream_is_shown(self):
        self.send("To nobody", token="5a" * 32)
        self.console.open("To nobody")
        self.console.press("Release to the device", ".detail")
        self.console.wait_for_text("The upstream answered 400 BadDeviceToken", ".detail .result")
        self.service.ask("DELETE", self.path)
        self.console.press("Release to the device", ".detail")
        self.console.wait_for_text("upstream", ".detail .result")
        self.console.wait(lambda: "BadDeviceToken" not in self.console.one(".detail .result").text)

    def test_what_was_not_captured_has_no_such_button(self):
        self.service.ask("DELETE", self.path)
        self.send("Delivered here")
        self.console.open("Delivered here")
        self.console.wait(lambda: self.console.button("Send again", ".detail"))
        self.assertEqual([each for each in self.console.all(".detail button") if each.text == "Release to the device"], [])
