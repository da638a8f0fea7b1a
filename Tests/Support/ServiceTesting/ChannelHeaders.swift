import CommonTesting
import Notifications
import Service
import Testing

/// The headers of a request about broadcast channels. Tests change the ones that they are about.
struct ChannelHeaders: Sendable {
    static let creation = #"{"message-storage-policy":0,"push-type":"LiveActivity"}"#
    static let storingCreation = #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#
    /// An identifier that no channel has.
    static let unknown = "dHN0LXNyY2gtY2hubA=="

    private(set) var fields: [(String, String)]
    var body = creation

    /// Makes a request for the management of channels.
    init(
        _ method: String,
        _ resource: String = "channels",
        bundleID: String = "com.example.app",
        token: String?,
        channel: String? = nil,
    ) {
        fields = [
            (":method", method), (":scheme", "https"), (":authority", "localhost"),
            (":path", "/1/apps/\(bundleID)/\(resource)"),
        ]
        if let token { fields.append(("authorization", "bearer \(token)")) }
        if let channel { fields.append(("apns-channel-id", channel)) }
    }

    /// Makes a broadcast.
    init(broadcastTo channel: String?, bundleID: String = "com.example.app", token: String?) {
        self.init("POST", token: token, channel: channel)
        set(":path", "/4/broadcasts/apps/\(bundleID)")
        set("apns-push-type", "liveactivity")
        body = #"{"aps":{"event":"update","content-state":{"score":1}}}"#
    }

    /// Sets a header without changing the order, or removes it.
    mutating func set(_ name: String, _ value: String?) {
        let place = fields.firstIndex { $0.0 == name } ?? fields.endIndex
        fields.removeAll { $0.0 == name }
        if let value { fields.insert((name, value), at: place) }
    }

    /// Sets two headers.
    mutating func set(_ name: String, _ value: String, _ second: String, _ secondValue: String) {
        set(name, value)
        set(second, secondValue)
    }

    /// Returns a copy with one more field.
    func adding(_ name: String, _ value: String) -> ChannelHeaders {
        var copy = self
        copy.fields.append((name, value))
        return copy
    }
}

extension TestService {
    func port(of environment: Environment, _ address: KeyPath<ServiceDescription.Addresses, String>) throws -> Int {
        let text = try required(description.addresses(environment))[keyPath: address]
        return try required(Int(text.split(separator: ":").last ?? ""))
    }

    /// Connects to the management of channels.
    func connectChannels(_ certificate: ClientCertificate? = nil) async throws -> WireClient {
        try await WireClient.connect(
            port: port(\.channels), authorityFile: description.ca, certificate: certificate)
    }

    /// Waits until this many connected devices are subscribed to a channel.
    func waitForSubscribers(_ count: Int, of channel: String) async throws {
        let id = try required(ChannelID(rawValue: channel))
        let app = try required(BundleID(rawValue: bundleID))
        try await wait(while: service.subscribers(of: id, of: app, in: environment) != count)
    }

    /// Creates a channel and returns its identifier.
    func makeChannel(keepsNewest: Bool = false) async throws -> String {
        let client = try await connectChannels()
        let id = try await client.create(token: try providerToken(), keepsNewest: keepsNewest)
        await client.close()
        return id
    }

    /// Sends two broadcasts to a channel, and returns the connection.
    func broadcast(twiceTo channel: String, statuses: [Int]) async throws -> [WireClient] {
        let provider = try await connectProvider()
        let headers = ChannelHeaders(broadcastTo: channel, token: try providerToken())
        for status in statuses {
            #expect(try await provider.send(headers.fields, body: headers.body).status == status)
        }
        return [provider]
    }

    /// Connects a device on which the app is registered.
    func connectRegistered() async throws -> (client: WireClient, certificate: ClientCertificate) {
        let certificate = try await makeDeviceCertificate()
        let client = try await connectCourier(certificate)
        _ = try await client.send(Self.deviceHeaders("PUT", "/1/apps/\(bundleID)"), body: "")
        return (client, certificate)
    }

    static func deviceHeaders(_ method: String, _ path: String) -> [(String, String)] {
        [(":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", path)]
    }
}

extension WireClient {
    /// Creates a channel and returns its identifier.
    func create(token: String, keepsNewest: Bool = false) async throws -> String {
        let answer = try await send(
            ChannelHeaders("POST", token: token).fields,
            body: keepsNewest ? ChannelHeaders.storingCreation : ChannelHeaders.creation)
        return try required(answer.headers["apns-channel-id"]?.first)
    }

    /// Begins or ends the app's subscription to a channel.
    func subscribe(to channel: String, _ method: String = "PUT", app: String = "com.example.app") async throws -> Answer
    {
        try await send(TestService.deviceHeaders(method, "/1/apps/\(app)/channels/\(channel)"), body: "")
    }

    /// Opens the stream of notifications.
    func listen() async throws -> Open {
        try await open(TestService.deviceHeaders("GET", "/1/notifications"), endStream: true)
    }

    func acknowledge(_ numbers: [Int]) async throws -> Answer {
        let list = numbers.map(String.init).joined(separator: ",")
        return try await send(
            TestService.deviceHeaders("POST", "/1/acknowledgements"), body: #"{"sendings":[\#(list)]}"#)
    }
}
