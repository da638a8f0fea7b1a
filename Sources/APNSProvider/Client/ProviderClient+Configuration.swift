extension ProviderClient {
    /// How a client works. The defaults suit most.
    public struct Configuration: Sendable {
        /// How long a notification may take until it is answered, waiting and trying again included, unless a call says
        /// otherwise. Half a minute covers a restart of the service.
        public var deadline = Duration.seconds(30)

        /// Connections at once. One more is opened when all that there are have as many streams as the service allows;
        /// eight with 1,000 streams each are more than one process can use.
        public var maximumConnections = 8

        /// Notifications that wait for a connection; one more is refused with ``ProviderError/Code/overloaded``. With
        /// payloads of 4 KB, 10,000 take 40 MB.
        public var maximumWaiting = 10_000

        /// Notifications of one bulk call that are under way or answered and not yet read. Two connections full.
        public var maximumInFlight = 2_000

        /// Where provider tokens are kept. In memory, one for each key for all clients of this process, unless it is
        /// replaced by one that processes share, as ``FileProviderTokenStore``.
        public var tokenStore: any ProviderTokenStore = InMemoryProviderTokenStore.shared

        /// Your record of device tokens: what the service calls inactive is taken out of it.
        public var deviceTokens: (any DeviceTokens)?

        /// The defaults.
        public init() {}
    }
}
