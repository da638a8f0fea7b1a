/// A request of the provider API, made by hand, so that it can be wrong in one way (Guide, Tables 8-1 and 8-2).
struct WirePush: Sendable {
    var method = "POST"
    var path: String
    var headers: [(name: String, value: String)]
    var body: [UInt8]? = Array(#"{"aps":{"alert":"Hello"}}"#.utf8)

    /// A valid request with the required values only.
    init(token: String, topic: String, authorization: String) {
        path = "/3/device/\(token)"
        headers = [("authorization", "bearer \(authorization)"), ("apns-topic", topic)]
    }

    init(token: String, topic: String, from provider: Provider) throws {
        self.init(token: token, topic: topic, authorization: try provider.token())
    }

    /// The value of a header; setting nil removes it.
    subscript(_ name: String) -> String? {
        get { headers.first { $0.name == name }?.value }
        set {
            headers.removeAll { $0.name == name }
            if let newValue { headers.append((name, newValue)) }
        }
    }

    mutating func payload(_ text: String) { body = Array(text.utf8) }

    /// Makes the payload exactly this long.
    mutating func payload(bytes: Int) {
        let (start, end) = (#"{"aps":{"alert":""#, #""}}"#)
        payload(start + String(repeating: "x", count: bytes - start.utf8.count - end.utf8.count) + end)
    }
}
