/// An error of PostgreSQL or of the connection to it.
package struct PostgresError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Kind: Sendable, Hashable {
        /// The connection was lost, or the server did not answer in time, after the statement was sent. It is unknown
        /// whether the statement was executed.
        case connectionLost
        /// There is no connection. The statement was not sent.
        case notConnected
        /// Too many statements wait for this connection. The statement was not sent.
        case busy
        case uniqueViolation
        /// The server does not accept changes, because it is a standby or was set to read-only.
        case readOnly
        /// The server's disk is full.
        case full
        /// Another transaction holds a lock for too long. The statement was rolled back.
        case locked
        /// The statement was rolled back because it conflicted with another transaction. Repeat it.
        case conflict
        /// The server rejected the user, the password or the database.
        case notAllowed
        /// The server cancelled the statement, usually because it took too long.
        case cancelled
        /// The server or the database does not meet the store's requirements. The message says what a person can do.
        case unsuitable
        /// The answer does not have the expected form.
        case unexpectedAnswer
        case other
    }

    package let kind: Kind
    /// The five characters of the SQLSTATE; nil if the error does not come from the server.
    package let state: String?
    /// A message without secrets. libpq and PostgreSQL never put passwords into messages, and neither does this code.
    package let message: String

    package init(_ kind: Kind, _ message: String, state: String? = nil) {
        self.kind = kind
        self.message = message
        self.state = state
    }

    /// Creates the error for a SQLSTATE (PostgreSQL's documentation, appendix A).
    init(state: String, message: String) {
        self.init(Self.kind(of: state), message, state: state)
    }

    private static func kind(of state: String) -> Kind {
        switch state {
        case "23505": .uniqueViolation
        case "25006": .readOnly
        case "53100": .full
        case "55P03": .locked
        case "40001", "40P01": .conflict
        case "57014": .cancelled
        // The server is shutting down or starting, has too many connections, or has waited too long for the next
        // statement of a transaction. It has rolled the statement back.
        case "57P01", "57P02", "57P03", "53300", "25P03": .notConnected
        case "3D000": .notAllowed
        case _ where state.hasPrefix("28"): .notAllowed
        case _ where state.hasPrefix("08"): .connectionLost
        default: .other
        }
    }

    package var description: String {
        state.map { "\(message) (SQLSTATE \($0))" } ?? message
    }
}
