/// The reason why a notification was not accepted, or could not be made.
public struct ProviderError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of error.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private let name: String

        /// The key, the certificate or the token store cannot be used.
        public static let badCredentials = Code(name: "badCredentials")
        /// The address or the authority's certificate of a custom environment cannot be used.
        public static let badEnvironment = Code(name: "badEnvironment")
        /// The notification breaks a rule of the Guide or cannot be encoded. It was not sent.
        public static let badNotification = Code(name: "badNotification")
        /// The service refused the notification. ``ProviderError/rejection`` has the reason.
        public static let rejected = Code(name: "rejected")
        /// The client could not connect: the host is unknown, nothing listens there, TLS failed, or the server does
        /// not speak HTTP/2. The notification was not sent.
        public static let cannotConnect = Code(name: "cannotConnect")
        /// The connection ended before the answer came. The service may have accepted the notification.
        public static let connectionLost = Code(name: "connectionLost")
        /// The service refused or reset the request's stream, or ended the connection, and gave no answer.
        public static let gaveUp = Code(name: "gaveUp")
        /// The answer does not have the form that the Guide describes: it comes from a proxy in between, or the server is not
        /// a push service. This says nothing about the notification.
        public static let unexpectedAnswer = Code(name: "unexpectedAnswer")
        /// No answer came before the deadline. ``ProviderError/mayHaveBeenTaken`` says whether the notification was
        /// sent.
        public static let deadlineExceeded = Code(name: "deadlineExceeded")
        /// More notifications are waiting than ``ProviderClient/Configuration/maximumWaiting`` allows.
        public static let overloaded = Code(name: "overloaded")
        /// The caller's task was cancelled.
        public static let cancelled = Code(name: "cancelled")
        /// The client was shut down.
        public static let shutDown = Code(name: "shutDown")

        /// The code's name, such as `cannotConnect`.
        public var description: String { name }
    }

    /// The kind of error.
    public let code: Code
    private let event: String
    /// The service's rejection, if the service refused the notification.
    public let rejection: PushRejection?
    /// Whether the notification may have been accepted although no valid answer came. Sending it again may deliver
    /// it twice.
    public let mayHaveBeenTaken: Bool

    /// - Parameter event: a sentence that says what happened.
    init(
        _ code: Code,
        _ event: String,
        rejection: PushRejection? = nil,
        mayHaveBeenTaken: Bool = false,
    ) {
        self.code = code
        self.event = event
        self.rejection = rejection
        self.mayHaveBeenTaken = mayHaveBeenTaken
    }

    /// The same error of a notification that the service may have accepted, or of one that it has not.
    func with(mayHaveBeenTaken: Bool) -> ProviderError {
        ProviderError(code, event, rejection: rejection, mayHaveBeenTaken: mayHaveBeenTaken)
    }

    /// One or two sentences for a person that say what happened, and whether the service may have accepted the
    /// notification nevertheless. They contain no secrets.
    public var cause: String { mayHaveBeenTaken ? event + " The service may have accepted the request." : event }

    init(_ rejection: PushRejection) {
        self.init(.rejected, rejection.description, rejection: rejection)
    }

    /// The same as ``cause``.
    public var description: String { cause }

    static let taskCancelled = ProviderError(.cancelled, "The task was cancelled.")
    static let clientShutDown = ProviderError(.shutDown, "The client was shut down.")
}
