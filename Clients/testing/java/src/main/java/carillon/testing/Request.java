package carillon.testing;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** A request of the backend. {@link #get} has all its keys, which docs/testing.md describes. */
public final class Request {
    private final Map<?, ?> members;

    Request(Object members) { this.members = (Map<?, ?>) members; }

    /** The value of a key: a map, list, text, Long, Double or Boolean; null if there is none. */
    public Object get(String key) { return members.get(key); }

    private String text(String key) { return (String) members.get(key); }

    /** The number in the journal, from 1. */
    public long number() { return (Long) members.get("number"); }

    /** The HTTP status of the answer; 0 if there is none yet. */
    public int status() { return members.get("status") instanceof Long status ? status.intValue() : 0; }

    /** The reason in the answer; null if there is none. */
    public String reason() { return text("reason"); }

    public String outcome() { return text("outcome"); }

    public String topic() { return text("topic"); }

    /** The device token in hexadecimal digits. */
    public String token() { return text("token"); }

    public String apnsID() { return text("apnsID"); }

    public String team() { return text("team"); }

    public String keyID() { return text("keyID"); }

    /** The payload, as maps and lists; null if the body was no JSON dictionary. */
    @SuppressWarnings("unchecked")
    public Map<String, Object> payload() { return (Map<String, Object>) members.get("payload"); }

    /** The name of the Web Push subscription that the message was for; null if it was a notification. */
    public String subscription() { return text("subscription"); }

    /** What a message of Web Push says; null if it cannot be decrypted, or is not UTF-8. */
    public String text() { return text("text"); }

    /** The value of a key of a match. */
    Object value(String key) {
        // These are header fields of the request.
        String field = Map.of("pushType", "apns-push-type", "collapseID", "apns-collapse-id").get(key);
        if (field == null) return get(key);
        return members.get("headers") instanceof Map<?, ?> headers ? headers.get(field) : null;
    }

    /** The request in one line, or the connection that failed before a request. */
    @Override
    public String toString() {
        if ("failed".equals(outcome())) return "#" + number() + ", a connection of " + client() + " failed: " + text("cause");
        List<String> parts = new ArrayList<>();
        parts.add("#" + number());
        parts.add(status() == 0 ? "no answer yet" : status() + (reason() == null ? "" : " " + reason()));
        if (outcome() != null) parts.add(outcome());
        for (String name : List.of("topic", "token", "channel", "subscription")) if (text(name) != null) parts.add(name + " " + text(name));
        if (payload() != null) parts.add("payload " + shown(payload()));
        else if (text() != null) parts.add("text " + shown(text()));
        else parts.add("webpush".equals(text("protocol")) ? "no text" : "no payload");
        if (text("rule") != null) parts.add("fault " + text("rule"));
        return String.join(", ", parts);
    }

    private String client() { return text("client") == null ? "a client" : text("client"); }

    /** Alerts of a client that does not trust a certificate (RFC 8446, 6.2). */
    private static final Set<String> DISTRUST = Set.of("bad_certificate", "unsupported_certificate", "certificate_revoked",
            "certificate_expired", "certificate_unknown", "unknown_ca");

    /** A connection that failed before a request has no team, and tests that run at the same time share the service. */
    private static final String WHOSE = "a connection since this test began, perhaps another test's";

    /** A sentence about a connection that failed before a request: what is wrong, and what to do. */
    String trouble(String host) {
        String alert = text("alert");
        String cause = String.valueOf(text("cause"));
        if (get("protocols") instanceof List<?> offered) {
            String how = offered.isEmpty() ? "it sent a request of HTTP/1"
                    : "it offered only " + String.join(", ", offered.stream().map(Object::toString).toList());
            return "The backend does not speak HTTP/2 (" + WHOSE + ": " + how
                    + "): APNs takes nothing else, so send with a client for HTTP/2.";
        }
        if (alert != null ? DISTRUST.contains(alert) : cause.startsWith("the client ended the connection")) {
            return "The backend does not trust the service (" + WHOSE + ": " + (alert == null ? cause : "its alert is " + alert)
                    + "): let it trust the authority in apns.sslContext(), apns.caFile() or apns.caPEM(), and connect to " + host
                    + ".";
        }
        return "A connection of " + client() + " failed (" + WHOSE + "): " + cause + ".";
    }

    static String shown(Object value) {
        String text = Json.write(value);
        return text.codePointCount(0, text.length()) <= 300 ? text : text.substring(0, text.offsetByCodePoints(0, 300)) + "…";
    }
}
