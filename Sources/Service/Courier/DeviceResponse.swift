import Delivery
import HTTP2
import Notifications
import Storage

/// Writes the answers of the device protocol.
struct DeviceResponse {
    private var block = FieldList()

    mutating func headers(_ answer: DeviceAnswer) -> FieldList {
        block.removeAll()
        block.append(":status", String(answer.status))
        if answer.body != nil { block.append("content-type", answer.contentType) }
        if let deviceID = answer.deviceID { block.append("device-id", deviceID.description, .neverIndexed) }
        return block
    }

    /// Returns the body of a rejection: the same dictionary as in the provider API. GOAWAY uses it as its debug data.
    static func body(_ rejection: Rejection) -> [UInt8] {
        var text = #"{"reason":"\#(rejection.reason.rawValue)""#
        if let detail = rejection.detail { text += #","detail":\#(JSONString.quoted(detail))"# }
        return Array((text + "}").utf8)
    }
}

/// An answer that may come later than its request's end.
struct DeviceAnswer: Sendable {
    var status: Int
    var contentType = "application/json"
    var body: String?
    /// The device's identifier, for people who search the log for it.
    var deviceID: DeviceID?

    init(status: Int, contentType: String = "application/json", body: String? = nil) {
        self.status = status
        self.contentType = contentType
        self.body = body
    }

    init(_ rejection: Rejection) {
        self.init(
            status: rejection.reason.status, body: String(decoding: DeviceResponse.body(rejection), as: UTF8.self))
    }

    /// Creates the answer for an error of the store.
    init(_ error: StoreError) { self.init(Rejection(error)) }
}
