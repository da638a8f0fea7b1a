import NIOCore

/// One request under way, and who waits for its response.
struct ClientExchange {
    let promise: EventLoopPromise<HTTP2Response>
    var deadline: Scheduled<Void>?
    var status = 0
    var body = ByteBuffer()
    var isEnded = false
    var failure: HTTP2ClientError?

    /// Fails whoever waits.
    func fail(_ error: HTTP2ClientError) {
        deadline?.cancel()
        promise.fail(error)
    }
}
