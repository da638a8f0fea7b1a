package import Delivery

/// Gives the API access to the delivery log.
package struct DeliveryLogSource: Sendable {
    /// Returns the device token that belongs to an address, in hexadecimal digits; nil if it is not known.
    package typealias TokenName = @Sendable (_ address: NotificationSubject.Address, _ key: UInt32) -> String?

    let folder: String
    let token: TokenName
    let signal: LogSignal
    /// Returns after all events recorded before the call have been written to the files.
    let flush: @Sendable () async -> Void

    package init(
        folder: String,
        token: @escaping TokenName,
        signal: LogSignal,
        flush: @escaping @Sendable () async -> Void,
    ) {
        self.folder = folder
        self.token = token
        self.signal = signal
        self.flush = flush
    }
}
