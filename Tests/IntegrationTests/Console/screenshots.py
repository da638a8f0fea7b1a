"""Takes pictures of the console with something in it: script/screenshots."""

import pathlib
import sys
import tempfile

from browser import Console, Provider, Service, chromium, show_as

TITLES = ["Your order is on its way", "Sale: 20 % off tents until Sunday", "Anna sent you a photo", "Door opened",
          "Your table is ready", "Flight LX 318: gate B42", "Parcel delivered", "Rain in 20 minutes"]


def fill(provider):
    for index in range(24):
        title = TITLES[index % len(TITLES)]
        provider.send({"aps": {"alert": {"title": title, "body": "Tap to see more."}, "badge": index, "sound": "default"}})
        if index % 9 == 4:
            provider.send({"aps": {"alert": "Are you still there?"}}, token="00" * 32)
    provider.service.manage("PATCH", f"/v1/devices/{provider.account.device_id}", {"behaviour": {"kind": "offline"}})
    provider.send({"aps": {"content-available": 1}}, apns_push_type="background", apns_priority="5")
    provider.send({"aps": {"alert": {"title": "Good morning", "body": "Three meetings today"}}})


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    service = Service()
    driver = chromium()
    try:
        with tempfile.TemporaryDirectory() as scratch:
            provider = Provider(service, pathlib.Path(scratch))
            fill(provider)
        console = Console(service, driver)
        console.sign_in()
        console.wait_for_title("Good morning")
        for width in (1280, 360):
            for dark in (False, True):
                name = f"{width}-{'dark' if dark else 'light'}.png"
                show_as(driver, width, 760, dark)
                console.show("#/notifications")
                console.wait_for_title("Good morning")
                driver.save_screenshot(str(folder / f"list-{name}"))
                console.open("Are you still there?")
                console.wait(lambda: "Rejected" in console.one(".timeline").text)
                driver.save_screenshot(str(folder / f"notification-{name}"))
                driver.back()
    finally:
        driver.quit()
        service.stop()


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
