"""Tests all pages of the console except the list of notifications, in a real browser, while a real client sends."""

import contextlib
import datetime
import json
import os
import pathlib
import re
import subprocess
import tempfile
import time
import unittest

from selenium.webdriver.common.keys import Keys

from browser import INJECTIONS, Console, ConsoleCase, ProductionProvider, Provider, Service, UnknownProvider, chromium, wait


class SendTests(ConsoleCase):
    def open(self, query=""):
        self.console.show("#/notifications")
        account = self.provider.account
        self.console.show(f"#/send?app={account.bundle_id}&device={account.device_id}&{query}", "Send")

    def test_a_template_is_sent_and_its_life_goes_on(self):
        self.open("template=alert")
        self.console.wait_for_text("It would be accepted, also by the conformance strict.", "#check")
        self.console.write("aps-title", "From the form")
        self.assertIn('"title": "From the form"', self.console.one("[name=payload]").get_property("value"))
        self.console.press("Send", "form")
        self.console.wait_for_text("Accepted.", "[role=status].stack")
        self.console.wait_for_text("Delivered", "[role=status].stack")
        self.console.wait_for_text("Taken by the device", ".timeline")
        self.console.click(".hint a")
        self.console.wait_for_text("without a provider")
        self.assertEqual(self.console.one("h1").text, "From the form")

    def test_every_template_is_accepted_as_it_is(self):
        self.open()
        for name in ["Alert", "Background", "Badge", "Localised", "Critical sound", "VoIP", "Live Activity"]:
            # First something else, so that the answer cannot be that of an earlier text.
            self.console.write("payload", "{")
            self.console.wait_for_text("not JSON", "#check")
            self.console.press(name, ".chips")
            self.console.wait_for_text("It would be accepted", "#check")
            self.assertIn("also by the conformance strict", self.console.one("#check").text, name)

    def test_what_is_typed_is_checked_by_the_services_rules(self):
        self.open("template=alert")
        for payload, expected in [
            ('{"aps": ', "The payload is not JSON"), ("[]", "has to be a JSON dictionary"),
            ('{"aps":{"alert":"x","bagde":1}}', "aps.bagde"),
            ('{"aps":{"alert":"' + "x" * 4096 + '"}}', "413 PayloadTooLarge"),
            ('{"thread-id":"1","aps":{"alert":"x"}}', "thread-id"),
        ]:
            self.console.write("payload", payload)
            self.console.wait_for_text(expected, "#check")
        self.console.wait_for_text("strict would refuse", "#check")
        self.console.press("Background", ".chips")
        self.console.choose("priority", "10")
        self.console.wait_for_text("400 BadPriority", "#check")
        self.console.choose("device", "pasted")
        self.console.write("token", "00" * 32)
        self.console.wait_for_text("400 BadDeviceToken", "#check")
        # The check has sent nothing.
        self.assertEqual(self.service.manage("GET", "/v1/requests"), [])

    def test_the_size_has_the_limit_of_the_push_type(self):
        self.open("template=alert")
        self.console.wait_for_text("of 4,096 bytes", ".size")
        self.console.press("VoIP", ".chips")
        self.console.wait_for_text("of 5,120 bytes", ".size")

    def test_the_form_and_the_json_say_the_same(self):
        self.open("template=alert")
        self.console.write("payload", '{"aps":{"alert":"Short","badge":4,"sound":{"critical":1}},"mine":[1]}')
        value = lambda name: self.console.one(f"[name=aps-{name}]").get_property("value")
        self.assertEqual([value("body"), value("badge"), value("sound")], ["Short", "4", ""])
        self.assertFalse(self.console.one("[name=aps-sound]").is_enabled())
        self.console.write("aps-badge", "5")
        self.console.write("aps-title", "New")
        payload = json.loads(self.console.one("[name=payload]").get_property("value"))
        self.assertEqual(payload, {
            "aps": {"alert": {"title": "New", "body": "Short"}, "badge": 5, "sound": {"critical": 1}}, "mine": [1]})

    def test_a_notification_is_changed_and_sent(self):
        expiration = int(time.time()) + 5000
        self.assertEqual(self.provider.send(
            '{"aps":{"alert":"To be changed"},"z":12345678901234567890,"a":1}', apns_collapse_id="score",
            apns_expiration=str(expiration)), 200)
        self.console.open("To be changed")
        self.console.press("Change and send")
        self.console.wait(lambda: "To be changed" in self.console.one("[name=payload]").get_property("value"))
        self.assertEqual(self.console.one("[name=token]").get_property("value"), self.provider.token)
        self.assertEqual(self.console.one("[name=collapseID]").get_property("value"), "score")
        self.assertEqual(self.console.one("[name=expiration]").get_property("value"), f"at {expiration}")
        # The payload stays as it was sent, also where a browser would round.
        self.driver.refresh()
        self.console.wait(lambda: "12345678901234567890" in self.console.one("[name=payload]").get_property("value"))
        self.console.wait_for_text("It would be accepted", "#check")
        self.console.press("Send", "form")
        self.console.wait_for_text("Accepted.", "[role=status].stack")
        sent = self.service.manage("POST", "/v1/requests/wait", {"count": 2})["requests"][1]
        self.assertEqual(sent["headers"]["apns-expiration"], str(expiration))

    @contextlib.contextmanager
    def channel(self, policy=0):
        """A channel of the app, to which the virtual device is subscribed."""
        account = self.provider.account
        new = {"bundleID": account.bundle_id, "messageStoragePolicy": policy}
        channel = self.service.manage("POST", "/v1/channels", new)["channelID"]
        self.service.manage("PATCH", f"/v1/devices/{account.device_id}", {"channels": {account.bundle_id: [channel]}})
        try:
            yield channel
        finally:
            self.service.manage("DELETE", f"/v1/channels/{channel}?bundleID={account.bundle_id}")

    def test_a_broadcast_is_sent_to_a_channel_and_its_life_goes_on(self):
        with self.channel(policy=1) as channel:
            self.open("template=alert")
            self.console.choose("device", f"channel:{channel}")
            option = self.console.one("[name=device] option:checked").text
            self.assertIn("keeps the newest, 1 connected", option)
            # What nobody has changed becomes a push that a channel takes.
            self.assertEqual(self.console.one("[name=pushType]").get_property("value"), "liveactivity")
            self.assertIn('"event": "update"', self.console.one("[name=payload]").get_property("value"))
            self.assertFalse(self.console.one("[name=collapseID]").is_displayed())
            self.console.wait_for_text("of 5,120 bytes", ".size")
            # The conformance strict requires it, as APNs does.
            self.console.choose("expiration", "3600")
            self.console.wait_for_text("It would be accepted, also by the conformance strict.", "#check")
            self.console.choose("pushType", "alert")
            self.console.wait_for_text("400 InvalidPushType", "#check")
            self.console.choose("pushType", "liveactivity")
            self.console.choose("priority", "5")
            self.console.choose("expiration", "3600")
            self.console.write("aps-title", "To all who watch")
            self.console.wait_for_text("It would be accepted", "#check")
            # Nothing was sent so far.
            self.assertEqual(self.service.manage("GET", "/v1/requests"), [])
            self.console.press("Send", "form")
            self.console.wait_for_text("Accepted.", "[role=status].stack")
            self.console.wait_for_text("Delivered", "[role=status].stack")
            self.console.wait_for_text("Stored", ".timeline")
            self.console.click(".hint a")
            self.console.wait_for_text("without a provider")
            self.assertEqual(self.console.one("h1").text, "To all who watch")
            self.assertIn(channel, self.console.text())
            sent = self.service.manage("GET", "/v1/requests")
            self.assertEqual([each["channel"] for each in sent], [channel])
            self.assertEqual(sent[0]["headers"]["apns-priority"], "5")
            self.assertLessEqual(abs(int(sent[0]["headers"]["apns-expiration"]) - time.time() - 3600), 60)

    def test_a_broadcast_that_the_channel_refuses_says_why(self):
        with self.channel() as channel:
            self.open("template=liveactivity")
            self.console.choose("device", f"channel:{channel}")
            self.assertIn("keeps nothing", self.console.one("[name=device] option:checked").text)
            self.console.choose("expiration", "3600")
            self.console.wait_for_text("400 BadExpirationDate", "#check")
            self.console.choose("expiration", "0")
            self.console.wait_for_text("It would be accepted", "#check")
            self.console.choose("device", "pasted channel")
            self.console.wait_for_text("Paste a channel's identifier", "#check")
            self.console.write("channel", "none!")
            self.console.wait_for_text("400 BadChannelId", "#check")
            self.console.write("channel", "bm9uZSB0aGVyZSBoZXJlIQ==")
            self.console.wait_for_text("400 ChannelNotRegistered", "#check")
            self.console.write("channel", f" {channel} ")
            self.console.wait_for_text("It would be accepted", "#check")
            # A device has its own token and a collapse identifier again.
            self.console.choose("device", self.provider.account.device_id)
            self.assertTrue(self.console.one("[name=collapseID]").is_displayed())
            self.assertFalse(self.console.one("[name=channel]").is_displayed())
            self.console.wait_for_text("of 4,096 bytes", ".size")

    def test_a_broadcast_is_sent_again_and_changed_and_sent(self):
        with self.channel() as channel:
            payload = {"aps": {"event": "update", "timestamp": 1, "content-state": {"n": 1}, "alert": {"title": "Once more"}}}
            self.service.manage("POST", "/v1/broadcasts", {
                "bundleID": self.provider.account.bundle_id, "channelID": channel, "pushType": "liveactivity", "expiration": 0,
                "payload": payload})
            self.console.open("Once more")
            self.console.press("Send again")
            self.console.wait_for_text("Sent again.", ".result")
            match = {"match": {"channel": channel, "outcome": "delivered"}, "count": 2}
            again = self.service.manage("POST", "/v1/requests/wait", match)["requests"][1]
            self.assertEqual([again["payload"], again["headers"]["apns-expiration"]], [payload, "0"])
            self.console.press("Change and send")
            self.console.wait(lambda: "Once more" in self.console.one("[name=payload]").get_property("value"))
            self.assertEqual(self.console.one("[name=channel]").get_property("value"), channel)
            self.assertEqual(self.console.one("[name=app]").get_property("value"), self.provider.account.bundle_id)
            self.console.wait_for_text("It would be accepted", "#check")
            self.console.write("aps-title", "Changed")
            self.console.press("Send", "form")
            self.console.wait_for_text("Accepted.", "[role=status].stack")
            sent = self.service.manage("POST", "/v1/requests/wait", {**match, "count": 3})["requests"][2]
            self.assertEqual(sent["payload"]["aps"]["alert"]["title"], "Changed")

    def test_an_unknown_app_and_a_removed_one_say_so(self):
        self.provider.account.behave(kind="removed")
        try:
            self.open("template=alert")
            self.console.wait_for_text("410 Unregistered", "#check")
        finally:
            self.provider.account.behave(kind="online")


class DeviceTests(ConsoleCase):
    def open(self):
        self.console.show(f"#/device/{self.provider.account.device_id}", "phone")

    def behave(self, label):
        self.console.wait(lambda: next(
            each for each in self.console.all(".segments label") if each.text == label)).click()

    def test_switched_off_and_on_it_gets_what_waited(self):
        self.console.show("#/devices", "Devices")
        self.console.wait(lambda: self.console.titles())
        self.console.follow("phone")
        self.console.wait_for_text("Connected since")
        self.behave("Offline")
        self.console.wait_for_text("Not connected", ".under")
        self.send("While it was off")
        self.console.wait_for_text("1 notification waiting")
        self.console.wait_for_text("While it was off", ".plain")
        self.assertNotIn("While it was off", self.console.one(".screen").text)
        self.behave("Online")
        self.console.wait_for_text("While it was off", ".screen")
        self.console.wait(lambda: "waiting" not in self.console.text())

    def test_a_device_that_does_not_exist_has_no_phone(self):
        self.console.show("#/device/0000000000000000", "There is no such device")
        self.assertFalse(self.console.one(".phone").is_displayed())
        self.open()
        self.console.wait(lambda: self.console.one(".phone").is_displayed())
        # A device that is removed meanwhile takes its phone with it.
        made = self.service.manage("POST", "/v1/devices", {"team": self.provider.account.team_id, "name": "tablet"})
        self.console.show(f"#/device/{made['deviceID']}", "tablet")
        self.service.manage("DELETE", f"/v1/devices/{made['deviceID']}")
        self.console.wait_for_text("There is no such device")
        self.assertFalse(self.console.one(".phone").is_displayed())

    def test_the_delay_of_a_slow_device_is_shown_and_sent_back_as_it_is(self):
        def behaviour():
            return self.service.manage("GET", f"/v1/devices/{self.provider.account.device_id}")["behaviour"]
        slow = {"kind": "slow", "delay": "PT0.5S"}
        self.provider.account.behave(**slow)
        try:
            self.open()
            self.console.wait(lambda: self.console.one("[name=delay]").get_property("value") == "0.5", "the delay")
            self.assertTrue(self.driver.execute_script("return document.querySelector('[name=delay]').validity.valid"))
            self.behave("Online")
            self.console.wait(lambda: behaviour()["kind"] == "online", "online")
            self.behave("Slow")
            self.console.wait(lambda: behaviour()["kind"] == "slow", "slow")
            self.assertEqual(behaviour(), slow)
        finally:
            self.provider.account.behave(kind="online")

    def test_removed_it_is_gone_for_providers(self):
        self.open()
        self.behave("Removed")
        self.console.wait_for_text("410 Unregistered", "#behaviour-hint")
        self.assertEqual(self.provider.send({"aps": {"alert": "x"}}), 410)
        self.behave("Online")
        self.console.wait_for_text("Connected", ".under")

    def test_low_power_holds_what_can_wait(self):
        self.open()
        self.behave("Low")
        self.console.wait_for_text("power: Low", ".under")
        self.send("It can wait", apns_priority="5")
        self.console.wait_for_text("1 notification waiting")
        self.behave("Charging")
        self.console.wait_for_text("It can wait", ".screen")

    def test_the_screen_shows_what_a_phone_shows(self):
        alert = lambda **aps: self.assertEqual(self.provider.send({"aps": aps}), 200)
        alert(alert={"title": "Title", "subtitle": "Subtitle", "body": "Body"}, badge=7, sound={"critical": 1, "name": "alarm"},
              category="INVITE", **{"thread-id": "family", "interruption-level": "time-sensitive"})
        alert(alert={"loc-key": "ORDER", "loc-args": ["4711", "Anna"]})
        for score in ["One goal", "Two goals"]:
            self.assertEqual(self.provider.send({"aps": {"alert": score}}, apns_collapse_id="match"), 200)
        self.assertEqual(self.provider.send(
            {"aps": {"content-available": 1}}, apns_push_type="background", apns_priority="5"), 200)
        self.open()
        self.console.wait_for_text("Silent: it woke the app", ".screen")
        screen = self.console.one(".screen").text
        for part in ["Title", "Subtitle", "Body", "Critical sound alarm", "time-sensitive", "Category INVITE", "thread family",
                     "ORDER (4711, Anna)", "Two goals", "Replaced 1 earlier one (match)"]:
            self.assertIn(part, screen)
        self.assertNotIn("One goal", screen)
        self.assertEqual(self.console.one(".app-badge").text, "7")
        self.assertIn("its actions are not known", screen)
        # What the app knows can be told, and is asked for by its name.
        self.console.press("Enter what they are", ".screen")
        area = self.console.one("details.card textarea")
        self.assertEqual(json.loads(area.get_property("value")), {
            "strings": {"ORDER": ""}, "categories": [{"id": "INVITE", "actions": [{"id": "", "title": ""}]}]})
        self.assertEqual(self.driver.switch_to.active_element, area)
        texts = {"strings": {"ORDER": "Order %1$@ for %2$@"}, "categories": [{"id": "INVITE", "actions": [{"id": "a", "title": "Accept"}]}]}
        self.driver.execute_script("arguments[0].value = arguments[1]", area, json.dumps(texts))
        self.console.press("Keep")
        self.console.wait_for_text("Order 4711 for Anna", ".screen")
        self.assertIn("Accept", self.console.one(".banner-actions").text)
        self.assertNotIn("not known", self.console.one(".screen").text)
        self.assertEqual(self.console.all(".unknown-text, .screen button"), [])

    def test_a_badge_is_never_wider_than_its_icon(self):
        self.open()
        for badge, shown in [(999, "999"), (1000, "999+"), (123456789, "999+")]:
            self.assertEqual(self.provider.send({"aps": {"alert": "Count", "badge": badge}}), 200)
            label = f"[aria-label='Badge {badge}']"
            self.console.wait(lambda: self.console.one(label).text == shown, shown)
            self.assertTrue(self.driver.execute_script("""
                const badge = document.querySelector(arguments[0]).getBoundingClientRect();
                const icon = document.querySelector('.icons .app-icon').getBoundingClientRect();
                return badge.width <= icon.width && badge.left >= icon.left;""", label), shown)

    def test_live_activities_are_cards_with_their_state(self):
        now = int(time.time())
        topic = self.provider.account.bundle_id + ".push-type.liveactivity"
        def push(event, timestamp, **aps):
            aps = {name.replace("_", "-"): value for name, value in aps.items()}
            payload = {"aps": {"event": event, "timestamp": timestamp, **aps}}
            self.assertEqual(self.provider.send(payload, apns_push_type="liveactivity", apns_topic=topic), 200)
        card = "article[aria-label='Live Activity']"
        self.open()
        self.assertEqual(self.console.all(card), [])
        push("start", now, attributes_type="Match", attributes={"home": "A"}, content_state={"score": "1:0"},
             alert={"title": "It begins"})
        self.console.wait_for_text('"score": "1:0"', card)
        self.assertIn("Live Activity Match", self.console.one(card).text)
        push("update", now + 2, content_state={"score": "2:0"}, stale_date=now - 1)
        self.console.wait_for_text('"score": "2:0"', card)
        self.assertIn("Outdated", self.console.one(card).text)
        # An older state than the one on show changes nothing; the next one does.
        push("update", now + 1, content_state={"score": "9:9"})
        push("update", now + 3, content_state={"score": INJECTIONS[0]})
        self.console.wait_for_text(INJECTIONS[0], card)
        self.assertNotIn("9:9", self.console.one(".screen").text)
        self.assertNotIn("Outdated", self.console.one(card).text)
        push("end", now + 4, content_state={"score": "3:0"})
        self.console.wait_for_text("Ended", card)
        # The next one takes its place, and is removed at once.
        push("start", now + 5, attributes_type="Final", attributes={}, content_state={"score": "0:0"},
             alert={"title": "It begins"})
        self.console.wait_for_text("Live Activity Final", card)
        push("end", now + 6, dismissal_date=now - 60)
        self.console.wait(lambda: self.console.all(card) == [], "the card is gone")

    def test_the_token_that_starts_live_activities_changes_no_card(self):
        account = self.provider.account
        topic = account.bundle_id + ".push-type.liveactivity"
        start_token = "0badc0ffee0badc0ffee0badc0ffee0badc0ffee0badc0ffee0badc0ffee0bad"
        device = self.service.manage("POST", "/v1/devices", {"team": account.team_id, "tokens": {topic: start_token}})
        own = next(each["token"] for each in device["apps"] if each["bundleID"] == account.bundle_id)
        now = int(time.time())
        def push(event, seconds, score, token, **more):
            payload = {"aps": {"event": event, "timestamp": now + seconds, "content-state": {"score": score}, **more}}
            self.assertEqual(self.provider.send(
                payload, token=token, apns_push_type="liveactivity", apns_topic=topic), 200)
        card = "article[aria-label='Live Activity']"
        self.console.show(f"#/device/{device['deviceID']}")
        push("start", 0, "1:0", start_token, **{"attributes-type": "Match", "attributes": {}, "alert": "It begins"})
        self.console.wait_for_text('"score": "1:0"', card)
        push("update", 1, "9:9", start_token)
        push("end", 1, "9:9", start_token)
        push("update", 1, "2:0", own)
        self.console.wait_for_text('"score": "2:0"', card)
        self.assertNotIn("Ended", self.console.one(card).text)
        self.service.manage("DELETE", f"/v1/devices/{device['deviceID']}")

    def broadcast(self, channel, payload):
        account = self.provider.account
        headers = {"apns_push_type": "liveactivity", "apns_channel_id": channel, "apns_expiration": "0"}
        command, body = self.provider.command(payload, None, headers)
        command[-1] = f"https://localhost:{account.port}/4/broadcasts/apps/{account.bundle_id}"
        result = subprocess.run(command, input=body, stdout=subprocess.PIPE, check=True, text=True)
        self.assertEqual(result.stdout, "200")

    def test_a_channel_updates_and_ends_the_card_of_a_live_activity(self):
        account = self.provider.account
        channel = self.service.manage("POST", "/v1/channels", {"bundleID": account.bundle_id})["channelID"]
        self.service.manage("PATCH", f"/v1/devices/{account.device_id}", {"channels": {account.bundle_id: [channel]}})
        now = int(time.time())
        def event(name, timestamp, score, **more):
            return {"aps": {"event": name, "timestamp": timestamp, "content-state": {"score": score}, **more}}
        start = event(
            "start", now, "1:0", **{"attributes-type": "Match", "attributes": {}, "input-push-channel": channel, "alert": "It begins"})
        card = "article[aria-label='Live Activity']"
        self.open()
        self.assertEqual(self.provider.send(
            start, apns_push_type="liveactivity", apns_topic=account.bundle_id + ".push-type.liveactivity"), 200)
        self.console.wait_for_text('"score": "1:0"', card)
        self.broadcast(channel, event("update", now + 1, "2:0"))
        self.console.wait_for_text('"score": "2:0"', card)
        # Another channel's broadcasts and a broadcast that would start one change nothing.
        other = self.service.manage("POST", "/v1/channels", {"bundleID": account.bundle_id})["channelID"]
        self.service.manage("PATCH", f"/v1/devices/{account.device_id}", {"channels": {account.bundle_id: [channel, other]}})
        self.broadcast(other, event("update", now + 2, "8:8"))
        self.broadcast(channel, event("start", now + 2, "9:9", **{"attributes-type": "Final", "attributes": {}}))
        self.broadcast(channel, event("end", now + 3, "3:0"))
        self.console.wait_for_text("Ended", card)
        self.assertIn('"score": "3:0"', self.console.one(card).text)
        self.assertIn("Live Activity Match", self.console.one(card).text)
        for made in [channel, other]:
            self.service.manage("DELETE", f"/v1/channels/{made}?bundleID={account.bundle_id}")

    def test_a_broadcast_shows_its_channel_and_what_became_of_it(self):
        account = self.provider.account
        channel = self.service.manage("POST", "/v1/channels", {"bundleID": account.bundle_id})["channelID"]
        def broadcast(text):
            self.broadcast(channel, {"aps": {"event": "update", "timestamp": 1, "content-state": {}, "alert": text}})
        broadcast("Nobody hears this")
        self.service.manage("PATCH", f"/v1/devices/{account.device_id}", {"channels": {account.bundle_id: [channel]}})
        broadcast("The device hears this")
        for title, outcome in [("Nobody hears this", "Dropped"), ("The device hears this", "Delivered")]:
            self.console.show("#/notifications")
            self.console.open(title)
            self.console.wait_for_text(channel)
            self.console.wait_for_text(outcome)
            self.assertIn("Broadcast channel", self.console.text())
        self.service.manage("DELETE", f"/v1/channels/{channel}?bundleID={account.bundle_id}")

    def test_a_real_device_says_whether_it_is_connected_and_can_be_revoked(self):
        data = str(pathlib.Path(self.service.ready["ca"]).parent)
        carillon = os.environ.get("CARILLON", "carillon")
        identity = os.path.join(self.folder.name, "real.pem")
        made = json.loads(subprocess.run(
            [carillon, "device", "activate", "--out", identity, "--data", data, "--json"], stdout=subprocess.PIPE, check=True,
            text=True).stdout)
        listener = subprocess.Popen(
            [carillon, "device", "listen", "--identity", identity, "--bundle-id", self.provider.account.bundle_id,
             "--data", data, "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            token = json.loads(listener.stdout.readline())["token"]
            self.console.show(f"#/device/{made['deviceID']}", f"Device {made['deviceID']}")
            self.console.wait_for_text("since", ".under")
            self.assertIn("real · development", self.console.one(".under").text)
            self.assertEqual(self.provider.send({"aps": {"alert": "To a real one"}}, token=token), 200)
            self.console.wait_for_text("To a real one", ".screen")
            listener.terminate()
            listener.wait()
            self.console.wait_for_text("Not connected", ".under")
            self.assertEqual(self.provider.send({"aps": {"alert": "For later"}}, token=token), 200)
            self.console.wait_for_text("1 notification waiting")
            self.console.press("Revoke the device")
            self.console.wait_for_text("Its certificate is worthless", "dialog")
            self.console.press("Revoke", "dialog")
            self.console.wait(lambda: self.console.one("h1").text == "Devices")
            self.assertEqual(self.provider.send({"aps": {"alert": "Too late"}}, token=token), 410)
        finally:
            listener.terminate()
            listener.wait()
            listener.stdout.close()

    def test_nodes_of_a_cluster_that_did_not_answer_are_named(self):
        self.open()
        self.behave("Offline")
        self.console.wait_for_text("Not connected", ".under")
        # This service is no cluster: add what a node says of others.
        self.driver.execute_script("""
            const ask = window.fetch;
            window.fetch = async (path, options) => {
              const answer = await ask(path, options);
              if (!path.startsWith("/v1/devices") || window.allAnswer) return answer;
              const headers = new Headers(answer.headers);
              headers.set("Carillon-Unanswered", "node2, node3");
              return new Response(answer.body, { status: answer.status, headers });
            };""")
        self.console.wait_for_text("The nodes node2, node3 did not answer: it may be connected there", ".under")
        self.console.show("#/devices", "Devices")
        self.console.wait_for_text("The nodes node2, node3 did not answer: devices that are connected there are shown as not")
        self.console.wait(lambda: "phone" in self.console.titles())
        self.driver.execute_script("window.allAnswer = true")
        self.console.press("Refresh")
        self.console.wait(lambda: "did not answer" not in self.console.text())
        self.open()
        self.behave("Online")
        self.console.wait_for_text("Connected since", ".under")
        self.assertNotIn("did not answer", self.console.text())

    def test_a_virtual_device_is_made_and_removed(self):
        self.console.show("#/devices", "Devices")
        self.console.press("New virtual device")
        self.console.choose("team", self.provider.account.team_id)
        self.console.write("name", "<b>tablet</b>", "dialog")
        self.console.press("Make it")
        self.console.wait(lambda: self.console.one("h1").text == "<b>tablet</b>")
        self.console.press("Remove the device")
        self.console.wait_for_text("become worthless", "dialog")
        self.console.press("Remove")
        self.console.wait(lambda: self.console.one("h1").text == "Devices")
        self.console.wait(lambda: "phone" in self.console.titles())
        self.assertNotIn("<b>tablet</b>", self.console.titles())


class AccountTests(ConsoleCase):
    def test_a_revoked_key_is_refused_at_the_next_request(self):
        self.send("Before")
        self.console.wait_for_title("Before")
        self.console.show("#/accounts", "Accounts")
        self.console.wait(lambda: self.driver.find_element(
            "css selector", f"[aria-label='Revoke {self.provider.account.key_id}']")).click()
        self.console.wait_for_text("403 InvalidProviderToken", "dialog")
        self.console.wait_for_text("It sent 1 notification of the last 1", "dialog")
        self.console.press("Revoke the key")
        self.console.wait(lambda: self.console.all("dialog") == [])
        self.console.wait_for_text("Revoked")
        self.assertEqual(self.provider.send({"aps": {"alert": "After"}}), 403)
        self.console.show("#/notifications")
        self.console.wait_for_title("After")
        self.console.wait_for_text("InvalidProviderToken", ".list")

    def test_from_a_team_to_a_key_and_a_certificate(self):
        self.console.show("#/accounts", "Accounts")
        self.console.press("New team")
        self.console.write("name", INJECTIONS[1], "dialog")
        self.console.write("teamID", "UITEAM0001", "dialog")
        self.console.press("Make it")
        team = self.console.wait(lambda: self.console.one("[aria-labelledby=team-UITEAM0001]"))
        self.assertIn(INJECTIONS[1], team.text)
        within = "[aria-labelledby=team-UITEAM0001]"
        self.console.press("New app", within)
        self.console.write("bundleID", "com.example.ui", "dialog")
        self.console.press("Make it")
        self.console.wait_for_text("com.example.ui", within)
        self.console.press("New key", within)
        self.console.press("Make it")
        link = self.console.wait(lambda: self.console.one("dialog a[download]"))
        self.assertRegex(link.get_attribute("download"), "^AuthKey_[A-Z0-9]{10}.p8$")
        # What cannot be had again is not lost by a key.
        self.driver.switch_to.active_element.send_keys(Keys.ESCAPE)
        self.console.wait_for_text("not downloaded yet", "dialog")
        key = self.download(link)
        made = subprocess.run(
            ["openssl", "pkey", "-noout", "-text"], input=key, stdout=subprocess.PIPE, check=True, text=True).stdout
        self.assertIn("prime256v1", made)
        self.console.press("Close")
        self.console.wait(lambda: self.console.all("dialog") == [])
        self.console.press("New certificate", within)
        self.console.press("Make it")
        link = self.console.wait(lambda: self.console.one("dialog a[download]"))
        self.assertEqual(link.get_attribute("download"), "com.example.ui.pem")
        subprocess.run(["openssl", "x509", "-noout"], input=self.download(link), check=True, text=True)
        self.console.press("Close")
        self.console.wait_for_text("valid until", within)
        self.console.press("Delete the team", within)
        self.console.wait_for_text("1 app, 1 key and 1 certificate are deleted", "dialog")
        self.check_nothing_harmful()
        self.console.press("Delete the team", "dialog")
        self.console.wait(lambda: self.console.all(within) == [])

    def download(self, link):
        """What a link saves."""
        with tempfile.TemporaryDirectory() as folder:
            self.driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": folder})
            path = pathlib.Path(folder) / link.get_attribute("download")
            link.click()
            return self.console.wait(lambda: path.read_text())

    def test_identifiers_may_have_every_form_that_the_service_takes(self):
        self.console.show("#/accounts", "Accounts")
        self.console.press("New team")
        self.console.write("name", "Other forms", "dialog")
        def is_allowed(name, text):
            self.console.write(name, text, "dialog")
            return self.driver.execute_script("return document.querySelector(`dialog [name=${arguments[0]}]`).validity.valid", name)
        for text in ["a b", "a.b", "ä", "x" * 65]:
            self.assertFalse(is_allowed("teamID", text), text)
        self.assertIn("1 to 64 letters", self.console.one("dialog [name=teamID]").get_attribute("title"))
        for text in ["1", "x" * 64, "ui_team-1"]:
            self.assertTrue(is_allowed("teamID", text), text)
        self.console.press("Make it")
        within = "[aria-labelledby=team-ui_team-1]"
        self.console.wait(lambda: self.console.one(within))
        self.console.press("New key", within)
        self.assertFalse(is_allowed("keyID", "key 1"))
        self.assertTrue(is_allowed("keyID", "key_1-ui"))
        self.console.press("Make it")
        self.console.wait(lambda: self.console.one("dialog a[download]"))
        self.assertEqual(self.console.one("dialog a[download]").get_attribute("download"), "AuthKey_key_1-ui.p8")
        self.console.press("Close without it")
        self.console.wait_for_text("key_1-ui", within)
        self.service.manage("DELETE", "/v1/teams/ui_team-1")

    def test_a_mistake_is_said_where_it_was_made(self):
        self.console.show("#/accounts", "Accounts")
        self.console.press("New team")
        self.console.write("name", "x" * 201, "dialog")
        self.console.press("Make it")
        self.console.wait_for_text("200", "dialog [role=alert]")
        self.console.one("dialog").send_keys(Keys.ESCAPE)
        self.console.wait(lambda: self.console.all("dialog") == [])


class RehearsalTests(ConsoleCase):
    def test_a_rehearsal_fires_and_ends(self):
        self.console.show("#/rehearsals", "Rehearsals")
        self.console.write("document", json.dumps({"rules": [{
            "name": INJECTIONS[1], "match": {"team": self.provider.account.team_id},
            "fault": {"answer": {"reason": "TooManyRequests", "retryAfter": 1}}}]}))
        self.console.press("Begin")
        self.console.wait_for_text("has begun")
        self.assertEqual(self.provider.send({"aps": {"alert": "Busy"}}), 429)
        self.console.wait(lambda: self.console.one(".rehearsal tbody").text.endswith("1 1"))
        self.check_nothing_harmful()
        self.console.press("End")
        self.console.wait_for_text("Ended")
        self.assertEqual(self.provider.send({"aps": {"alert": "Free"}}), 200)
        self.console.show("#/notifications")
        self.console.open("Busy")
        self.console.wait_for_text("of a rehearsal fired for this request", ".callout")
        self.check_nothing_harmful()

    def test_a_request_that_hangs_has_no_answer(self):
        self.console.show("#/rehearsals", "Rehearsals")
        self.console.wait_for_text("nothing of a provider yet")
        team = {"team": self.provider.account.team_id}
        self.console.write("document", json.dumps({"rules": [
            {"name": "silence", "match": team, "when": {"first": 1}, "fault": {"hang": True}},
            {"name": "late", "match": team, "fault": {"delay": "PT5M"}}]}))
        self.console.press("Begin")
        self.console.wait_for_text("has begun")
        try:
            self.console.wait_for_text("ends", ".rehearsal")
            self.console.show("#/notifications")
            with self.provider.begin({"aps": {"alert": "Never"}}):
                self.console.wait_for_title("Never")
                with self.provider.begin({"aps": {"alert": "Late"}}):
                    self.console.wait_for_title("Late")
                    # Only the answer of the other one is late.
                    self.console.wait(lambda: {each.text for each in self.console.all(".space .badge")} == {"Delivered", "No answer"})
                    for title, badge, line, facts in [
                        ("Never", "No answer", "The service gives no answer.", "Answer\nnone\nRule of a rehearsal\nsilence"),
                        ("Late", "Delivered", "Taken by the device", "Answer\nnone yet\nRule of a rehearsal\nlate"),
                    ]:
                        self.console.show("#/notifications")
                        self.console.open(title)
                        self.console.wait_for_text(line, ".timeline")
                        self.console.wait_for_text(facts, "dl")
                        self.assertEqual(self.console.one(".under .badge").text, badge)
        finally:
            # What hangs would hang for the tests that follow.
            for rehearsal in self.service.manage("GET", "/v1/rehearsals"):
                self.service.manage("DELETE", "/v1/rehearsals/" + rehearsal["rehearsal"])
        self.console.show("#/rehearsals", "Rehearsals")
        self.console.wait_for_text("Ended")
        self.assertEqual(self.provider.send({"aps": {"alert": "Answered"}}), 200)

    def test_a_client_that_refuses_an_expired_certificate_is_shown(self):
        self.console.show("#/rehearsals", "Rehearsals")
        self.console.choose("template", "certificate")
        self.console.press("Begin")
        self.console.wait_for_text("has begun", "#rehearsal-answer")
        with self.assertRaises(subprocess.CalledProcessError):
            self.provider.send({"aps": {"alert": "Never"}})
        self.console.show("#/notifications")
        self.console.open("Connection failed: the client sent the alert certificate_expired")
        self.console.wait_for_text("Rule of a rehearsal\nexpired\nServer name\nlocalhost", "dl")
        self.assertEqual(self.console.all("main form, .timeline"), [])
        self.check_nothing_harmful()
        self.console.show("#/rehearsals", "Rehearsals")
        self.console.press("End")
        self.console.wait_for_text("Ended")
        self.console.wait_for_text("certificate", ".finding")
        self.assertEqual(self.provider.send({"aps": {"alert": "Trusted again"}}), 200)

    def test_a_wrong_rule_is_named(self):
        self.console.show("#/rehearsals", "Rehearsals")
        self.console.write("document", '{"rules":[{"name":"x","fault":{"close":"maybe"}}]}')
        self.console.press("Begin")
        self.console.wait_for_text("/rules/0/fault", "#rehearsal-answer")

    def test_every_template_can_begin(self):
        self.console.show("#/rehearsals", "Rehearsals")
        options = self.console.all("[name=template] option")
        names = [value for value in (each.get_attribute("value") for each in options) if value]
        self.assertGreater(len(names), 12)
        for option in names:
            self.console.choose("template", option)
            self.console.press("Begin")
            self.console.wait_for_text("has begun", "#rehearsal-answer")
            self.console.press("End")
            self.console.wait(lambda: self.console.all(".rehearsal .push") == [])
            self.console.write("document", "{")
            self.console.press("Begin")
            self.console.wait_for_text("not JSON", "#rehearsal-answer")

    def test_the_report_says_what_to_change(self):
        for number in range(12):
            self.provider.send({"aps": {"alert": "x"}}, token="00" * 32)
        self.console.show("#/rehearsals", "Rehearsals")
        self.console.choose("team", self.provider.account.team_id)
        self.console.wait_for_text("What to change:")
        self.assertTrue(self.console.all(".finding a"))


class ServiceTests(ConsoleCase):
    def test_it_says_that_it_is_ready_and_shows_the_last_hour(self):
        self.console.show("#/service", "Service")
        self.console.wait_for_text("Ready", ".state")
        self.send("Counted")
        # The service has the first numbers after ten seconds.
        self.console.wait(lambda: self.console.one(".graph .graph-now").text.endswith("rejected"))
        text = self.console.text()
        for part in ["Requests a second", "Connected devices", "MiB", "Limits exceeded"]:
            self.assertIn(part, text)
        # Each graph has a scale: its highest value and 0.
        self.console.wait(lambda: all(
            each.text == "" or each.text.splitlines()[-1] == "0" for each in self.console.all(".graph .scale")))
        self.assertTrue(any("MiB" in each.text for each in self.console.all(".graph .scale")))
        labels = [each.get_attribute("aria-label") for each in self.console.all(".graph svg")]
        self.assertTrue(all("last hour. Now:" in label for label in labels))


class ProductionTests(unittest.TestCase):
    def test_a_service_for_production_says_what_it_does_not_show(self):
        service = Service(options=["--environment", "production", "--journal", "0"])
        driver = chromium()
        try:
            console = Console(service, driver)
            console.sign_in()
            console.wait_for_text("never a payload")
            with tempfile.TemporaryDirectory() as folder:
                provider = ProductionProvider(service, pathlib.Path(folder))
                self.assertEqual(provider.send({"aps": {"alert": "Between the two of us"}}, token="00" * 32), 400)
            console.wait_for_text("BadDeviceToken", ".list")
            driver.find_element("css selector", ".space .title a").click()
            console.wait_for_text("What to do:")
            console.wait_for_text("Rejected: BadDeviceToken", ".timeline")
            # The address leads there again, without the list.
            driver.refresh()
            console.wait_for_text("Rejected: BadDeviceToken", ".timeline")
            self.assertNotIn("Between", console.text())
            self.assertEqual(console.all(".detail button.primary"), [])
            for page, text in [
                ("send", "development environment only"), ("devices", "No device yet"), ("accounts", "com.example.app"),
                ("rehearsals", "development environment only"), ("service", "Ready"),
            ]:
                console.show(f"#/{page}")
                console.wait_for_text(text)
            # What exists in the development environment only is not offered.
            self.assertFalse(console.one('#nav a[href="#/rehearsals"]').is_displayed())
            console.show("#/devices", "Devices")
            self.assertNotIn("New virtual device", console.text())
        finally:
            driver.quit()
            service.stop()


class AcceptAnyTests(unittest.TestCase):
    def test_a_service_that_accepts_any_says_so_and_marks_what_is_not_verified(self):
        service = Service(options=["--accept", "any", "--journal", "100"])
        driver = chromium()
        try:
            console = Console(service, driver)
            console.sign_in()
            console.wait(lambda: console.one("#accepts").text == "Accepts any")
            with tempfile.TemporaryDirectory() as folder:
                provider = UnknownProvider(service, pathlib.Path(folder))
                self.assertEqual(provider.send({"aps": {"alert": "From a stranger"}}), 200)
            console.wait_for_text("From a stranger", ".list")
            console.open("From a stranger")
            console.wait_for_text("NEWKEY1234 (not verified)")
            console.show("#/service", "Service")
            console.wait_for_text("Accepts any:", ".state")
            console.show("#/accounts", "Accounts")
            console.wait_for_text("UNKNOWN123 (made at first sight)")
        finally:
            driver.quit()
            service.stop()


class TeamClockTests(unittest.TestCase):
    def test_a_request_has_the_time_of_its_team(self):
        service = Service(options=["--clock", "virtual", "--journal", "100"])
        driver = chromium()
        try:
            console = Console(service, driver)
            console.sign_in()
            with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
                ahead = Provider(service, pathlib.Path(folder), "com.example.ahead")
                beside = Provider(service, pathlib.Path(other), "com.example.beside")
                service.manage("POST", "/v1/clock", {"team": ahead.account.team_id, "advance": "P3D"})
                for provider, title in [(ahead, "In three days"), (beside, "Today")]:
                    self.assertEqual(provider.send({"aps": {"alert": title}}), 200)
            for title, days in [("In three days", 3), ("Today", 0)]:
                console.open(title)
                shown = datetime.datetime.fromisoformat(console.one(".under time").get_attribute("datetime"))
                passed = shown - datetime.datetime.now(datetime.timezone.utc)
                self.assertEqual(round(passed / datetime.timedelta(days=1)), days)
                console.show("#/notifications")
                console.wait_for_title(title)
        finally:
            driver.quit()
            service.stop()


class WelcomeTests(unittest.TestCase):
    def test_the_welcome_says_how_to_sign_in(self):
        carillon = os.environ.get("CARILLON", "carillon")
        with tempfile.TemporaryDirectory() as folder:
            with subprocess.Popen(
                    [carillon, "serve", "--ports", "ephemeral", "--data", folder], stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL, text=True) as service:
                driver = chromium()
                try:
                    line = next(line for line in service.stdout if line.startswith("  console "))
                    address, command = re.fullmatch(r"  console +(http://127.0.0.1:[0-9]+/console)   sign in with: (.+)\n", line).groups()
                    link = subprocess.run(command, shell=True, stdout=subprocess.PIPE, check=True, text=True).stdout.strip()
                    self.assertTrue(link.startswith(address))
                    driver.get(link)
                    wait(driver, lambda: driver.find_element("css selector", "#live").text == "Live")
                    # What is on the disk has no journal until somebody wants it.
                    wait(driver, lambda: "The journal is off" in driver.find_element("css selector", ".notice").text)
                    self.assertEqual(driver.current_url, address)
                finally:
                    driver.quit()
                    service.terminate()
                    service.communicate()


class EveryPageTests(ConsoleCase):
    """What holds on every page."""

    def fill(self):
        device = {"team": self.provider.account.team_id, "name": INJECTIONS[1]}
        made = self.service.manage("POST", "/v1/devices", device)
        self.provider.send("<b>no JSON</b>")
        self.driver.execute_script("localStorage.setItem(arguments[0], arguments[1])", f"carillon-app-texts:{self.provider.account.bundle_id}", json.dumps({
            "strings": {injection: injection for injection in INJECTIONS[1:]},
            "categories": [{"id": injection, "actions": [{"id": injection, "title": injection}]} for injection in INJECTIONS[1:]]}))
        for injection in INJECTIONS:
            # More kinds than a person sends; what the service refuses is shown too.
            self.provider.send({"aps": {
                "alert": {"title": injection, "subtitle": injection, "body": injection, "loc-key": injection, "loc-args": [injection]},
                "sound": injection, "category": injection, "thread-id": injection, "interruption-level": injection}},
                apns_collapse_id=injection.encode("ascii", "ignore").decode()[:60])
        self.console.wait_for_title(INJECTIONS[-1])
        return made["deviceID"]

    def pages(self, device):
        yield from (f"#/{name}" for name in self.console.pages())
        # With all filters, a rejected notification, and one with everything in it.
        yield "#/notifications?status=400"
        requests = self.service.manage("GET", "/v1/requests")
        yield f"#/notification/r{requests[0]['number']}"
        yield "#/notification/r" + str(next(request["number"] for request in requests if request["status"] == 400))
        yield f"#/device/{self.provider.account.device_id}"
        yield f"#/device/{device}"

    def test_they_can_be_read_and_operated_and_nothing_becomes_markup(self):
        device = self.fill()
        for page in self.pages(device):
            self.console.show(page)
            self.console.wait(lambda: self.driver.execute_script("return location.hash") == page and self.console.one("main h1").text)
            self.console.wait(lambda: "One moment" not in self.console.text())
            # When the page no longer changes, everything that it asked for has arrived.
            self.settle()
            self.check_readable()
            self.check_names()
            self.check_nothing_harmful()
        self.console.show(f"#/device/{self.provider.account.device_id}", "phone")
        self.console.wait_for_text(INJECTIONS[0], ".screen")
        self.check_nothing_harmful()
        for fragment in INJECTIONS:
            for page in ["device", "send", "notification"]:
                self.console.show(f"#/{page}/{fragment}?from={fragment}&app={fragment}&device={fragment}&template={fragment}")
        self.settle()
        self.check_nothing_harmful()
        # Nothing came from elsewhere.
        self.assertEqual(self.driver.execute_script(
            "return performance.getEntriesByType('resource').map(entry => entry.name).filter(name => !name.startsWith(location.origin))"), [])
        logged = [entry["message"] for entry in self.driver.get_log("browser") if "status of" not in entry["message"]]
        self.assertEqual(logged, [])

    def settle(self):
        def text():
            return self.console.one("main").text
        before = None
        while before != (before := text()):
            time.sleep(0.4)

    def test_the_keyboard_leads_to_every_page(self):
        for name in self.console.pages():
            for _ in range(12):
                focused = self.driver.switch_to.active_element
                if focused.get_attribute("href") and focused.get_attribute("href").endswith(f"#/{name}"):
                    break
                focused.send_keys(Keys.TAB)
            self.driver.switch_to.active_element.send_keys(Keys.ENTER)
            self.console.wait(lambda: self.console.one("nav [aria-current]").get_attribute("href").endswith(f"#/{name}"))
            if name != "notifications":
                # The page's heading must have the focus, so that a screen reader reads it first.
                self.console.wait(lambda: self.driver.switch_to.active_element.tag_name == "h1")
                self.assertTrue(self.driver.title.startswith(self.console.one("main h1").text))
            self.driver.execute_script("document.activeElement.blur(); document.querySelector('.skip').focus()")

    def test_a_dialog_keeps_the_focus_and_gives_it_back(self):
        self.console.show("#/accounts", "Accounts")
        button = self.console.button("New team")
        button.send_keys(Keys.ENTER)
        self.console.wait(lambda: self.driver.switch_to.active_element.get_attribute("name") == "name")
        for _ in range(8):
            self.driver.switch_to.active_element.send_keys(Keys.TAB)
            self.assertTrue(self.driver.execute_script(
                "return document.activeElement === document.body || document.querySelector('dialog').contains(document.activeElement)"))
        self.driver.switch_to.active_element.send_keys(Keys.ESCAPE)
        self.console.wait(lambda: self.console.all("dialog") == [])
        self.assertEqual(self.driver.switch_to.active_element.text, "New team")


if __name__ == "__main__":
    unittest.main()
