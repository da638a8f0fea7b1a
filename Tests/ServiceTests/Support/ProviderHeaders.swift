/// The headers of a request to the provider API, of which a test changes what it is about.
struct ProviderHeaders {
    var fields: [(String, String)]

    init(_ deviceToken: String, topic: String = "com.example.app", token: String?) {
        fields = [
            (":method", "POST"), (":scheme", "https"), (":authority", "localhost"),
            (":path", "/3/device/\(deviceToken)"), ("apns-topic", topic),
        ]
        if let token { fields.append(("authorization", "bearer \(token)")) }
    }

    /// With another value for a header, or without it.
    func with(_ name: String, _ value: String?) -> ProviderHeaders {
        var copy = self
        copy.fields.removeAll { $0.0 == name }
        if let value { copy.fields.append((name, value)) }
        return copy
    }

    /// With one more field.
    func adding(_ name: String, _ value: String) -> ProviderHeaders {
        var copy = self
        copy.fields.append((name, value))
        return copy
    }
}
