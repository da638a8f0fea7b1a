package carillon.testing;

import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;

/** The team's clock. It runs like the machine's, and can be advanced. */
public final class Clock {
    private final Management management;
    private final Map<String, Object> scope;
    private final String query;

    Clock(Management management, Map<String, Object> scope, String query) {
        this.management = management;
        this.scope = scope;
        this.query = query;
    }

    /** The team's time. */
    public Instant now() { return time(management.ask("GET", "/v1/clock" + query, null)); }

    /** Advances the clock. Afterwards everything that became due has happened. */
    public Instant advance(Duration by) {
        Map<String, Object> body = new LinkedHashMap<>(scope);
        body.put("advance", by.toString());
        return time(management.ask("POST", "/v1/clock", body));
    }

    private static Instant time(Management.Answer answer) { return Instant.parse((String) answer.object().get("now")); }
}
