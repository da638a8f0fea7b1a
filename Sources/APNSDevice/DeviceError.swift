/// Why a device did not get what it asked for, or lost its connection.
public struct DeviceError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What kind of error it is, for decisions in code.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        public let description: String
        /// Whether trying again later can help without anybody's doing something about it.
        let isTemporary: Bool

        private init(_ name: String, isTemporary: Bool = false) {
            description = name
            self.isTemporary = isTemporary
        }

        /// The identity cannot be read.
        public static let badIdentity = Code("badIdentity")
        /// The authority's certificate cannot be read.
        public static let badAuthority = Code("badAuthority")
        /// The courier does not take the identity: it has expired, was revoked, or is of another authority or
        /// environment. The device has to be activated anew.
        public static let identityRefused = Code("identityRefused")
        /// The courier's certificate is not one of the authority for that name, or this device's clock is wrong.
        public static let courierNotTrusted = Code("courierNotTrusted", isTemporary: true)
        /// Nobody answers there.
        public static let notConnected = Code("notConnected", isTemporary: true)
        /// The connection ended.
        public static let disconnected = Code("disconnected", isTemporary: true)
        /// The courier did not answer in time.
        public static let timedOut = Code("timedOut", isTemporary: true)
        /// The courier refused for now; ``DeviceError/reason`` says with which word.
        public static let unavailable = Code("unavailable", isTemporary: true)
        /// The courier refused; ``DeviceError/reason`` says with which word.
        public static let refused = Code("refused")
        /// The courier sent what the protocol does not allow.
        public static let badResponse = Code("badResponse", isTemporary: true)
        /// Another connection of this device has taken over.
        public static let takenOver = Code("takenOver")
        /// The device was closed here.
        public static let closed = Code("closed")
        /// What the device keeps could not be written or read.
        public static let storage = Code("storage")
    }

    /// What kind of error it is.
    public let code: Code
    /// What happened, in a sentence for a person.
    public let cause: String
    /// The courier's reason, when it refused.
    public let reason: String?

    /// Makes an error, for stores and tests of the caller's.
    public init(_ code: Code, _ cause: String, reason: String? = nil) {
        self.code = code
        self.cause = cause
        self.reason = reason
    }

    /// Whether trying again later can help without anybody's doing something about it.
    public var isTemporary: Bool { code.isTemporary }

    public var description: String { cause }
}
