package carillon.testing;

/** The service did not start, ended, or refused a request. The message is one sentence that says what to do. */
public class CarillonException extends RuntimeException {
    private static final long serialVersionUID = 1;
    private final int status;

    CarillonException(String message) { this(message, 0); }

    CarillonException(String message, int status) {
        super(message);
        this.status = status;
    }

    /** The HTTP status, if the service refused a request; otherwise 0. */
    public int status() { return status; }
}
