package carillon.testing;

import java.util.List;
import java.util.Map;

/** Faults that were arranged with {@link APNs#rehearse}. */
public final class Rehearsal {
    private final Management management;
    private final String id;

    Rehearsal(Management management, String id) {
        this.management = management;
        this.id = id;
    }

    /** How often the fault has happened. */
    public long fired() {
        List<?> rules = (List<?>) management.ask("GET", "/v1/rehearsals/" + id, null).object().get("rules");
        return rules.stream().mapToLong(rule -> (Long) ((Map<?, ?>) rule).get("fired")).sum();
    }

    /** Ends it. At the end of the test this happens by itself. */
    public void end() { management.ask("DELETE", "/v1/rehearsals/" + id, null, 404); }
}
