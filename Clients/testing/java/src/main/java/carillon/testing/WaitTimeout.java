package carillon.testing;

import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The expected requests did not arrive in time. The message shows the requests that differ least. */
public class WaitTimeout extends AssertionError {
    private static final long serialVersionUID = 1;
    private final long matched;

    WaitTimeout(Map<String, Object> match, int count, Duration timeout, Map<?, ?> answer, APNs apns) {
        super(explanation(match, count, timeout, answer, apns));
        matched = matched(answer);
    }

    /** How many requests matched. */
    public long matched() { return matched; }

    private static long matched(Map<?, ?> answer) { return answer.get("matched") instanceof Long matched ? matched : 0; }

    private static String explanation(
            Map<String, Object> match, int count, Duration timeout, Map<?, ?> answer, APNs apns) {
        Map<String, Object> wanted = new LinkedHashMap<>(match);
        Object team = wanted.remove("team");
        List<String> lines = new ArrayList<>();
        lines.add(matched(answer) + " requests matched" + (wanted.isEmpty() ? "" : " " + Request.shown(wanted)) + " within "
                + timeout.toMillis() / 1000.0 + " s, " + (count > 0 ? "instead of " + count : "but none should") + ".");
        for (Object each : answer.get("nearest") instanceof List<?> nearest ? nearest : List.of()) {
            Map<?, ?> miss = (Map<?, ?>) each;
            Request request = new Request(miss.get("request"));
            // Requests of other tests' teams say nothing about this one.
            if (team != null && request.team() != null && !team.equals(request.team())) continue;
            lines.add("  " + request);
            List<?> differs = (List<?>) miss.get("differs");
            for (Object key : differs) {
                Object value = request.value(key.toString());
                lines.add("    " + key + " is " + (value == null ? "nothing" : Request.shown(value)) + ", not "
                        + Request.shown(match.get(key.toString())));
            }
            if (differs.isEmpty()) lines.add("    matches");
        }
        if (lines.size() == 1 && matched(answer) == 0) {
            // Without a request, the newest connection that failed says more than anything else.
            String endpoint = apns.endpoint(match);
            if (answer.get("failed") instanceof List<?> failed && !failed.isEmpty()) {
                Request newest = new Request(failed.get(0));
                String host = endpoint == null ? apns.host() : URI.create(endpoint).getHost();
                if (newest.number() > apns.since) return newest.trouble(host) + "\n" + lines.get(0);
            }
            if (answer.get("dropped") instanceof Long dropped && dropped > apns.since) {
                return lines.get(0) + "\n  The journal has dropped requests since this test began, perhaps the backend's: start the service "
                        + "with a larger --journal.";
            }
            lines.add("  The backend has sent nothing: it has to "
                    + (endpoint == null ? "connect to " + apns.url() : "send to " + endpoint) + ", and trust the authority in apns.sslContext() or apns.caFile().");
        }
        return String.join("\n", lines);
    }
}
