import NIOCore

/// One request of the device protocol.
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
    /// Reports the device's power.
    static func state(_ power: Device.Power) -> CourierRequest {
        CourierRequest(.post, "/1/state", body: ByteBuffer(string: #"{"power":"\#(power.rawValue)"}"#))
    }
}

/// What the courier answered.
struct CourierResponse: Sendable {
    var status = 0
    /// The new device's identifier, in the answer to an activation.
    var deviceID: String?
    var body: [UInt8] = []
}

/// One request under way, and who waits for its answer. Confined to the connection's event loop.
struct CourierExchange {
    var response = CourierResponse()
    var failure: DeviceError?
    var deadline: Scheduled<Void>?
    var isDone = false
    let finish: (Result<CourierResponse, DeviceError>) -> Void
}
