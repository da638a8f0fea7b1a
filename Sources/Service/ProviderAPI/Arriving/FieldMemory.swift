import Notifications

/// What the fields of the request before were read as. Clients send most fields again and again, and a session says which
/// of them the request before had in the same place (`FieldList/isRepeated(_:)`): these need not be read again.
///
/// It saves reading, and never a judgement: what a value means is decided for each request.
struct FieldMemory {
    /// The most fields that are remembered. A usual request has twelve.
    static let maximumFields = 32

    /// The values of headers that a client seldom changes.
    struct Values {
        var priority: ProviderRequest.Field<Priority>
        var pushType: ProviderRequest.Field<PushType>
    }

    /// The header in each place of the request before; nil for a field that is not one of the API.
    private var headers: [RequestHeader?] = []
    /// Nil if the request before was another one than a notification to a device, or had a header twice: a field that is
    /// there twice repeats nothing.
    private(set) var values: Values?

    /// Returns the header in a place of a request.
    mutating func header(_ name: Span<UInt8>, at place: Int, isRepeated: Bool) -> RequestHeader? {
        if isRepeated, place < headers.count { return headers[place] }
        let header = RequestHeader(name: name)
        if place < headers.count {
            headers[place] = header
        } else if place == headers.count, place < Self.maximumFields {
            headers.append(header)
        }
        return header
    }

    /// Whether a header that repeats has the same meaning in this request as in the request before.
    func hasMeaning(in request: ProviderRequest) -> Bool {
        // An upstream that compares its answers gets the texts.
        values != nil && request.texts == nil && !request.isBroadcast
    }

    /// Remembers a request of which all fields were read.
    mutating func keep(_ request: ProviderRequest) {
        switch request.path {
        case .broadcast, .handles: values = nil
        case .bad, .withoutDeviceToken, .deviceToken, .otherDeviceToken, .badDeviceToken:
            values =
                request.repeated == nil
                ? Values(priority: request.priority, pushType: request.pushType) : nil
        }
    }

    /// Forgets the request before, because the fields of one after it are not read.
    mutating func forget() {
        headers.removeAll(keepingCapacity: true)
        values = nil
    }
}
