/// Why a notification was not accepted, or could not be made.
public struct ProviderError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What kind of thing went wrong.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private let name: String

        /// The key, the certificate or the token store cannot be used.
        public static let badCredentials = Code(name: "badCredentials")
        /// The address or the authority's certificate of a custom environment cannot be used.
        public static let badEnvironment = Code(name: "badEnvironment")
        /// The notification breaks a rule of the Guide, or cannot be encoded. It was not sent.
        public static let badNotification = Code(name: "badNotification")
        /// The service refused it: ``ProviderError/rejection`` says why.
        public static let rejected = Code(name: "rejected")
        /// No connection: the host is unknown, nobody listens there, TLS failed, or what answers does not speak HTTP/2.
        /// The notification was not sent.
        public static let cannotConnect = Code(name: "cannotConnect")
        /// The connection ended before the answer: the service may have taken the notification or not.
        public static let connectionLost = Code(name: "connectionLost")
        /// The service gave up the request without an answer.
        public static let gaveUp = Code(name: "gaveUp")
        /// What answered is no push service: the answer is none that the Guide knows.
        public static let unexpectedAnswer = Code(name: "unexpectedAnswer")
        /// No answer in time. ``ProviderError/mayHaveBeenTaken`` says whether it was sent.
        public static let deadlineExceeded = Code(name: "deadlineExceeded")
        /// More notifications wait than ``ProviderClient/Configuration/maximumWaiting`` allows.
        public static let overloaded = Code(name: "overloaded")
        /// The caller's task was cancelled.
        public static let cancelled = Code(name: "cancelled")
        /// The client was shut down.
        public static let shutDown = Code(name: "shutDown")

        /// The name.
        public var description: String { name }
    }

    /// What kind of thing went wrong.
    public let code: Code
    /// What happened, in a sentence for a person. Without secrets.
    public let cause: String
    /// The service's answer, where it refused.
    public let rejection: PushRejection?
    /// Whether the notification was sent and not answered: sending it again may deliver it twice.
    public let mayHaveBeenTaken: Bool

    init(
        _ code: Code,
        _ cause: String,
        rejection: PushRejection? = nil,
        mayHaveBeenTaken: Bool = false,
    ) {
        self.code = code
        self.cause = cause
        self.rejection = rejection
        self.mayHaveBeenTaken = mayHaveBeenTaken
    }

    init(_ rejection: PushRejection) {
        self.init(.rejected, rejection.description, rejection: rejection)
    }

    /// The cause.
    public var description: String { cause }
}
