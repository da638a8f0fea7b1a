import NIOCore
import Notifications

/// A request of the device protocol.
struct CourierRequest: Sendable {
    enum Method: Sendable { case get, put, post, delete }

    var method: Method
    var path: String
    var activationCode: String?
    var body: ByteBuffer?

    init(_ method: Method, _ path: String, activationCode: String? = nil, body: ByteBuffer? = nil) {
        self.method = method
        self.path = path
        self.activationCode = activationCode
        self.body = body
    }
}

extension CourierRequest {
    /// A request that reports the device's power state, and its software. A service that does not know the latter ignores
    /// it.
    static func state(_ power: Device.Power, software: String? = nil) -> CourierRequest {
        let more = software.map { #","software":\#(JSONString.quoted($0))"# } ?? ""
        return CourierRequest(.post, "/1/state", body: ByteBuffer(string: #"{"power":"\#(power.rawValue)"\#(more)}"#))
    }
}

/// The courier's answer to a request.
struct CourierResponse: Sendable {
    var status = 0
    /// The new device's identifier, in the answer to an activation.
    var deviceID: String?
    var body: [UInt8] = []
}

/// A request under way, with the closure that takes its answer. Confined to the connection's event loop.
struct CourierExchange {
    var response = CourierResponse()
    var failure: DeviceError?
    var deadline: Scheduled<Void>?
    var isDone = false
    let finish: (Result<CourierResponse, DeviceError>) -> Void
}
