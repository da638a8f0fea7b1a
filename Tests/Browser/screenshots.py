"""Takes pictures of both consoles, after filling them. script/screenshots calls this."""

import pathlib
import sys
import tempfile

from browser import Console, Provider, Service, chromium, show_as, wait
from provider_server import ProviderServer, Shop

TITLES = ["Your order is on its way", "Sale: 20 % off tents until Sunday", "Anna sent you a photo", "Door opened",
          "Your table is ready", "Flight LX 318: gate B42", "Parcel delivered", "Rain in 20 minutes"]
WIDTHS = (1280, 360)


def fill(provider):
    service, account = provider.service, provider.account
    for index in range(24):
        title = TITLES[index % len(TITLES)]
        provider.send({"aps": {"alert": {"title": title, "body": "Tap to see more."}, "badge": index, "sound": "default"}})
        if index % 9 == 4:
            provider.send({"aps": {"alert": "Are you still there?"}}, token="00" * 32)
    alert = {"title": "Anna", "subtitle": "Weekend in the mountains", "body": "The hut has two beds left. Shall I take them?"}
    provider.send({"aps": {"alert": alert, "thread-id": "anna", "category": "MESSAGE", "badge": 2, "sound": "default"}})
    provider.send({"aps": {"alert": {"title": "Anna", "body": "They are gone in an hour!"}, "thread-id": "anna", "badge": 3,
                           "interruption-level": "time-sensitive"}})
    for score in ["1:0", "2:0", "2:1"]:
        provider.send({"aps": {"alert": {"title": "Bern – Basel", "body": score}}}, apns_collapse_id="match-7")
    provider.send({"aps": {"alert": {"loc-key": "ORDER_BODY", "loc-args": ["4711", "Anna"]}}})
    provider.send({"aps": {"content-available": 1}}, apns_push_type="background", apns_priority="5")
    for name, behaviour in [("tablet", {"kind": "slow", "delay": "PT0.5S"}), ("watch", {"kind": "removed"}), ("kiosk 3", {"kind": "online"})]:
        service.manage("POST", "/v1/devices", {"team": account.team_id, "name": name, "behaviour": behaviour})
    away = service.manage("POST", "/v1/devices", {"team": account.team_id, "name": "till", "behaviour": {"kind": "offline"}})
    provider.send({"aps": {"alert": {"title": "Good morning", "body": "Three meetings today"}}}, token=away["apps"][0]["token"])
    service.manage("POST", "/v1/rehearsals", {"rules": [
        {"name": "busy", "match": {"team": account.team_id}, "when": {"every": 2}, "fault": {"answer": {"reason": "ServiceUnavailable", "retryAfter": 1}}}]})
    for _ in range(3):
        provider.send({"aps": {"alert": {"title": "Your tent has arrived", "body": "It waits for you in the shop."}}})


def pages(account):
    """The pages, by the names of their pictures: the address of each, and an element that is there once the page is complete."""
    return {
        "list": ("#/notifications", "Your tent has arrived"),
        "devices": ("#/devices", "kiosk 3"),
        "device": (f"#/device/{account.device_id}", "Weekend in the mountains"),
        "send": (f"#/send?app={account.bundle_id}&device={account.device_id}&template=alert", "It would be accepted"),
        "accounts": ("#/accounts", account.bundle_id),
        "rehearsals": ("#/rehearsals", "busy"),
        "service": ("#/service", "Ready"),
    }


def show_provider(folder, service, driver):
    """The pages of the provider server."""
    server = ProviderServer()
    try:
        shop = Shop(service, server, 60, "com.example.tents")
        for number in range(4):
            shop.register(f"old-phone-{number + 1}", f"{number:02}" * 32, tags=["news"])
        for number in range(60):
            shop.register(f"phone-{number + 1}", number, user=f"user-{number + 1}", languages=["sv-SE", "en"], tags=["news", "sv"])
        for title in TITLES[:5]:
            sent = shop.send(payload={"aps": {"alert": {"title": title, "body": "Tap to see more."}}})
            wait(driver, lambda: shop.message(sent)["state"] == "finished")
        running = shop.send({"tags": "news"}, {"aps": {"alert": {"title": TITLES[1], "body": "All tents, in all shops."}}}, rate=1)
        driver.get(server.manage("POST", "/v1/console/links", {})["url"])
        console = Console(server, driver)
        places = {
            "messages": ("#/messages", "Sending"), "message": (f"#/message/{running['id']}", "a second now"),
            "compose": ("#/compose", "What it says"), "installations": (f"#/installations?app={shop.bundle_id}&find=user-7", "Active"),
            "apps": ("#/apps", "Development"),
        }
        for width in WIDTHS:
            for dark in (False, True):
                show_as(driver, width, 800, dark)
                for page, (address, text) in places.items():
                    console.show(address)
                    console.wait_for_text(text)
                    driver.save_screenshot(str(folder / f"provider-{page}-{width}-{'dark' if dark else 'light'}.png"))
    finally:
        server.stop()


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    service = Service()
    driver = chromium()
    try:
        with tempfile.TemporaryDirectory() as scratch:
            provider = Provider(service, pathlib.Path(scratch), "com.example.shop")
            # Wait for some samples, because the graphs are empty without them.
            for rate in (15, 45, 25):
                before = len(service.manage("GET", "/v1/service")["samples"])
                wait(driver, lambda: len(service.manage("GET", "/v1/service")["samples"]) > before)
                for _ in range(rate):
                    provider.send({"aps": {"badge": rate % 7}})
            fill(provider)
        console = Console(service, driver)
        console.sign_in()
        for width in WIDTHS:
            for dark in (False, True):
                name = f"{width}-{'dark' if dark else 'light'}.png"
                show_as(driver, width, 800, dark)
                for page, (address, text) in pages(provider.account).items():
                    console.show(address)
                    console.wait_for_text(text)
                    driver.save_screenshot(str(folder / f"{page}-{name}"))
                console.show("#/notifications")
                console.open("Are you still there?")
                console.wait(lambda: "Rejected" in console.one(".timeline").text)
                driver.save_screenshot(str(folder / f"notification-{name}"))
        show_provider(folder, service, driver)
    finally:
        driver.quit()
        service.stop()


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
