/// The headers of a request to the provider API. A test changes those that it is about.
struct ProviderHeaders {
    var fields: [(String, String)]

    init(_ deviceToken: String, topic: String = "com.example.app", token: String?) {
        fields = [
            (":method", "POST"), (":scheme", "https"), (":authority", "localhost"),
            (":path", "/3/device/\(deviceToken)"), ("apns-topic", topic),
        ]
        if let token { fields.append(("authorization", "bearer \(token)")) }
    }

    /// A copy with another value for a header, or without the header.
    func with(_ name: String, _ value: String?) -> ProviderHeaders {
        var copy = self
        let place = copy.fields.firstIndex { $0.0 == name } ?? copy.fields.endIndex
        copy.fields.removeAll { $0.0 == name }
        if let value { copy.fields.insert((name, value), at: place) }
        return copy
    }

    /// A copy with one more field.
    func adding(_ name: String, _ value: String) -> ProviderHeaders {
        var copy = self
        copy.fields.append((name, value))
        return copy
    }
}
