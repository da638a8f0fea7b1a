public import NIOCore
public import NIOPosix
import Notifications

/// Reads the feedback service (Guide, 3.1.3): the device tokens whose app is gone since the last reading.
public struct FeedbackReader: Sendable {
    private let environment: APNSEnvironment
    private let credentials: ProviderCredentials
    private let group: any EventLoopGroup

    /// In bytes: more than a million entries.
    private static let maximumBytes = 64 << 20

    /// How long the whole list may take.
    private static let patience = TimeAmount.minutes(5)

    /// - Parameters:
    ///   - environment: the host, and the feedback service's port (2196).
    ///   - credentials: the provider certificate of the app.
    public init(
        environment: APNSEnvironment,
        credentials: ProviderCredentials,
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
    ) {
        self.environment = environment
        self.credentials = credentials
        self.group = group
    }

    /// Reads the list. The service takes off it what was read, once it was read to its end.
    public func read() async throws(ProviderError) -> [FeedbackItem] {
        let connection = try await LegacyConnection.connect(
            to: environment, credentials, reading: Self.maximumBytes, group)
        let answer = await connection.read(within: Self.patience)
        await connection.close()
        var bytes = answer.bytes
        var items: [FeedbackItem] = []
        while bytes.readableBytes > 0 {
            guard let item = FeedbackItem(&bytes) else { break }
            items.append(item)
        }
        guard answer.isWhole, bytes.readableBytes == 0 else {
            throw ProviderError(
                .connectionLost, "The feedback service did not send its list to the end (\(answer.cause)).")
        }
        return items
    }
}

/// A device token whose app is gone.
public struct FeedbackItem: Sendable, Hashable {
    /// Lower-case hexadecimal digits.
    public let deviceToken: String
    /// When the service found that out, in seconds since 1970. Where the device token was registered again after that, it
    /// is good.
    public let timestamp: UInt32

    /// Reads one (Guide, Table A-5); nil where the bytes end before it does.
    init?(_ bytes: inout ByteBuffer) {
        guard let (timestamp, length) = bytes.readMultipleIntegers(as: (UInt32, UInt16).self),
            let token = bytes.readBytes(length: Int(length))
        else { return nil }
        self.timestamp = timestamp
        deviceToken = Hexadecimal.string(token)
    }
}
