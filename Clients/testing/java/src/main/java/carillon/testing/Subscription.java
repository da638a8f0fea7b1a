package carillon.testing;

import java.util.Map;

/** A subscription of an app on a virtual device to Web Push, with what a Web Push library needs to send to it. */
public final class Subscription {
    private final Device device;
    private final Map<?, ?> made;

    Subscription(Device device, Map<?, ?> made) {
        this.device = device;
        this.made = made;
    }

    private String text(String key) { return (String) made.get(key); }

    /** The device. {@link Device#behave} changes what it does. */
    public Device device() { return device; }

    /** The name that the journal has: {@code Map.of("subscription", subscription.name())}. */
    public String name() { return text("name"); }

    /** The URL to send to. */
    public String endpoint() { return text("endpoint"); }

    /** The public key, in base64url. */
    public String p256dh() { return text("p256dh"); }

    /** The secret, in base64url. */
    public String auth() { return text("auth"); }

    /** The private key, in base64url. A test does not need it: the journal has what a message says. */
    public String privateKey() { return text("privateKey"); }
}
