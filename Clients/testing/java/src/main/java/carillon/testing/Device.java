package carillon.testing;

import java.util.Map;

/** A virtual device. */
public final class Device {
    private final Management management;
    private final String id;
    private final String token;

    Device(Management management, String id, String token) {
        this.management = management;
        this.id = id;
        this.token = token;
    }

    public String id() { return id; }

    /** The device token in hexadecimal digits. */
    public String token() { return token; }

    /** Changes what the device does from now on: online, slow, offline, silent, removed or expired. */
    public void behave(String behaviour) { behave(Map.of("kind", behaviour)); }

    /** Changes what the device does from now on: {@code Map.of("kind", "slow", "delay", "PT2S")}. */
    public void behave(Map<String, ?> behaviour) {
        management.ask("PATCH", "/v1/devices/" + id, Map.of("behaviour", behaviour));
    }

    /** Removes the device. */
    public void remove() { management.ask("DELETE", "/v1/devices/" + id, null); }
}
