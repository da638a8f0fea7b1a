import Storage

/// Why the agent cannot start, or cannot do what it was asked for.
package struct AgentError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of error.
    package enum Code: Sendable, Hashable {
        /// A value of the command is not allowed.
        case badSetting
        /// The agent's files cannot be used.
        case state
        /// The socket cannot be opened.
        case socket
        /// The device cannot be activated.
        case activation
        /// The caller may not be this app, or not change this setting.
        case notAllowed
        /// The app has not registered.
        case notRegistered
        /// There were too many requests of this kind.
        case tooMany
        /// The service cannot be reached, or the disk is full.
        case unavailable
        /// The service refuses the request, or the app was removed while it registered.
        case refused
    }

    package let code: Code
    /// A sentence for a person that says what happened and what to do.
    package let cause: String

    init(_ code: Code, _ cause: String) {
        self.code = code
        self.cause = cause
    }

    init(_ error: StoreError) { self.init(error.code == .unreadable ? .state : .unavailable, error.cause) }

    package var description: String { cause }
}

extension Agent {
    /// Returns what the store returns, or throws its error as one of the agent.
    static func storing<Value>(_ result: @autoclosure () throws(StoreError) -> Value) throws(AgentError) -> Value {
        do { return try result() } catch { throw AgentError(error) }
    }
}
