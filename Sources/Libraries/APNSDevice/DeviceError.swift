/// The reason why a device's request failed, or why its connection ended.
public struct DeviceError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of error, for decisions in code.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The code's name, such as `badIdentity`.
        public let description: String
        /// Whether a later attempt can succeed without a change by a person.
        let isTemporary: Bool

        private init(_ name: String, isTemporary: Bool = false) {
            description = name
            self.isTemporary = isTemporary
        }

        /// The identity cannot be read, or its key does not belong to its certificate.
        public static let badIdentity = Code("badIdentity")
        /// The authority's certificate cannot be read.
        public static let badAuthority = Code("badAuthority")
        /// The address of the provider server is invalid.
        public static let badAddress = Code("badAddress")
        /// The courier refuses the identity: it has expired, was revoked, or belongs to another authority or
        /// environment. The device has to be activated again.
        public static let identityRefused = Code("identityRefused")
        /// The courier's certificate was not issued by the authority for this name, or this device's clock is wrong.
        public static let courierNotTrusted = Code("courierNotTrusted", isTemporary: true)
        /// The courier cannot be reached.
        public static let notConnected = Code("notConnected", isTemporary: true)
        /// The connection ended.
        public static let disconnected = Code("disconnected", isTemporary: true)
        /// The courier did not answer in time.
        public static let timedOut = Code("timedOut", isTemporary: true)
        /// The courier refused the request for now. ``DeviceError/reason`` is its reason.
        public static let unavailable = Code("unavailable", isTemporary: true)
        /// The courier refused the request. ``DeviceError/reason`` is its reason.
        public static let refused = Code("refused")
        /// The courier sent something that the protocol does not allow.
        public static let badResponse = Code("badResponse", isTemporary: true)
        /// Another connection of the same device has replaced this one.
        public static let takenOver = Code("takenOver")
        /// The caller closed the device.
        public static let closed = Code("closed")
        /// The device's data could not be written or read.
        public static let storage = Code("storage")
    }

    /// The kind of error.
    public let code: Code
    /// A sentence for a person that says what happened.
    public let cause: String
    /// The courier's reason if it refused, otherwise nil.
    public let reason: String?

    /// Creates an error, for your own stores and tests.
    public init(_ code: Code, _ cause: String, reason: String? = nil) {
        self.code = code
        self.cause = cause
        self.reason = reason
    }

    /// Whether a later attempt can succeed without a change by a person.
    public var isTemporary: Bool { code.isTemporary }

    /// The same sentence as ``cause``.
    public var description: String { cause }
}
