extension ProviderClient {
    /// The settings of a client. The defaults suit most providers.
    public struct Configuration: Sendable {
        /// The time for a notification from the call to the answer, including waiting and sending again. A call can
        /// set its own deadline. 30 seconds cover a restart of the service.
        public var deadline = Duration.seconds(30)

        /// The largest number of connections at once. The client opens another one only when all open connections
        /// have as many streams as the service allows. Eight connections with 1,000 streams each are more than one
        /// process can use.
        public var maximumConnections = 8

        /// The largest number of notifications that wait for a connection. One more fails with
        /// ``ProviderError/Code/overloaded``. With payloads of 4 KB, 10,000 notifications take 40 MB.
        public var maximumWaiting = 10_000

        /// The largest number of notifications of one bulk call that are under way, or answered and not yet read.
        /// The default fills two connections.
        public var maximumInFlight = 2_000

        /// The store of provider tokens. By default, all clients of this process share one token for each key, in
        /// memory. Use a ``FileProviderTokenStore`` to share the tokens between processes.
        public var tokenStore: any ProviderTokenStore = InMemoryProviderTokenStore.shared

        /// The HTTP proxy through which the client reaches the service; nil for direct connections. See
        /// ``HTTPProxy/named(by:for:)`` for the proxy that the environment names.
        public var proxy: HTTPProxy?

        /// Your record of device tokens. The client removes device tokens from it that the service calls inactive.
        public var deviceTokens: (any DeviceTokens)?

        /// Creates a configuration with the default values.
        public init() {}
    }
}
