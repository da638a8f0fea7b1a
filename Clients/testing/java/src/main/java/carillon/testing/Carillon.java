package carillon.testing;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A service: one that was started for the tests, or one that runs already. All tests may share it: each takes an {@link APNs},
 * which is a team of its own. With JUnit, {@link CarillonTest} does all this.
 */
public final class Carillon implements AutoCloseable {
    final Management management;
    final boolean acceptsAny;
    private final Program program;
    /** The root certificate that the backend has to trust, in PEM. */
    public final String caPEM;
    /** Where the backend connects to: the HTTP/2 API. */
    public final String host;
    public final int port;
    /** The same for the binary API. */
    public final String binaryHost;
    public final int binaryPort;

    /** How a service is started. */
    public static final class Settings {
        String accept;
        List<String> options = List.of();
        Duration startTimeout = Duration.ofSeconds(30);

        /** {@code any} makes unknown teams, keys, topics and device tokens at their first sight, for a backend with data of its
         * own. Then a test sees the requests of all teams. */
        public Settings accept(String accept) {
            this.accept = accept;
            return this;
        }

        /** More options of {@code carillon serve}. */
        public Settings options(String... options) {
            this.options = List.of(options);
            return this;
        }

        /** The longest time until the service is ready; 30 seconds if it is not given. */
        public Settings startTimeout(Duration timeout) {
            this.startTimeout = timeout;
            return this;
        }
    }

    /** Starts a service, or uses the one that the variable CARILLON_MANAGEMENT_URL names. */
    public static Carillon start() { return start(new Settings()); }

    /** Starts a service, or uses the one that the variable CARILLON_MANAGEMENT_URL names. */
    public static Carillon start(Settings settings) {
        String url = System.getenv("CARILLON_MANAGEMENT_URL");
        if (url != null && !url.isEmpty()) return attach(url, System.getenv("CARILLON_MANAGEMENT_KEY"), settings);
        List<String> options = new ArrayList<>(List.of("--clock", "virtual", "--web-push", "127.0.0.1:0"));
        if (settings.accept != null) options.addAll(List.of("--accept", settings.accept));
        options.addAll(settings.options);
        Program program = new Program(options, settings.startTimeout);
        try {
            Map<?, ?> place = (Map<?, ?>) program.ready.get("management");
            Management management = new Management((String) place.get("url"), (String) place.get("key"), program::ending);
            return new Carillon(management, program.ready, program, settings, System.getenv());
        } catch (RuntimeException e) {
            program.close();
            throw e;
        }
    }

    /** Uses a service that runs already. It needs {@code --clock virtual} for the clock, and a journal. */
    public static Carillon attach(String url, String key) { return attach(url, key, new Settings()); }

    /** Uses a service that runs already. */
    public static Carillon attach(String url, String key, Settings settings) {
        return attach(url, key, settings, System.getenv());
    }

    static Carillon attach(String url, String key, Settings settings, Map<String, String> variables) {
        Management management = new Management(url, key, null);
        return new Carillon(management, management.describe(), null, settings, variables);
    }

    private Carillon(Management management, Map<?, ?> description, Program program, Settings settings,
            Map<String, String> variables) {
        this.management = management;
        this.program = program;
        this.acceptsAny = "any".equals(settings.accept);
        caPEM = (String) description.get("caPEM");
        if (!(description.get("development") instanceof Map<?, ?> addresses)) {
            throw new CarillonException(
                    "This Carillon does not serve the development environment: start it with --environment development.");
        }
        String mappedProvider = mapped("PROVIDER", variables);
        String mappedBinary = mapped("BINARY", variables);
        Matcher provider = address("PROVIDER", mappedProvider, addresses.get("provider"));
        host = host(provider, mappedProvider != null);
        port = Integer.parseInt(provider.group(2));
        Matcher binary = address("BINARY", mappedBinary, addresses.get("binary"));
        binaryHost = host(binary, mappedBinary != null);
        binaryPort = Integer.parseInt(binary.group(2));
    }

    /** A container has ports of its own: variables say to which ones of this machine they are mapped. Null if none does. */
    private String mapped(String name, Map<String, String> variables) {
        String mapped = program == null ? variables.get("CARILLON_" + name + "_ADDRESS") : null;
        return mapped == null || mapped.isEmpty() ? null : mapped;
    }

    private Matcher address(String name, String mapped, Object own) {
        String address = mapped == null ? String.valueOf(own) : mapped;
        Matcher parts = Pattern.compile("(.+):(\\d{1,5})").matcher(address);
        if (!parts.matches()) {
            throw new CarillonException(
                    "CARILLON_" + name + "_ADDRESS is " + address + ": set it to a host and a port, such as localhost:2197.");
        }
        return parts;
    }

    private String host(Matcher address, boolean isMapped) {
        String host = address.group(1).replaceAll("^\\[|\\]$", "");
        // An address that only that machine can reach, or every address of it: it is reached as the management API is.
        boolean isUnknown = program == null && !isMapped && Set.of("0.0.0.0", "::", "127.0.0.1", "::1").contains(host);
        return isUnknown ? management.place.getHost().replaceAll("^\\[|\\]$", "") : host;
    }

    /** The URL of the HTTP/2 API. */
    public String url() { return "https://" + (host.contains(":") ? "[" + host + "]" : host) + ":" + port; }

    /** Makes a team with an app and a key. End it with its {@code close()}. */
    public APNs team() { return new APNs(this, null, null, null, null); }

    /** Makes a team with these identifiers. Those that are null or empty are chosen by the service or by this library. */
    public APNs team(String teamID, String bundleID, String keyID, String privateKeyPEM) {
        return new APNs(this, teamID, bundleID, keyID, privateKeyPEM);
    }

    Program program() { return program; }

    /** Ends the service, if it was started for the tests. */
    @Override
    public void close() {
        if (program != null) program.close();
    }
}
