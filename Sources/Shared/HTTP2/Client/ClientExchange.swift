import NIOCore

/// One open request, and the caller that waits for its response.
struct ClientExchange {
    let promise: EventLoopPromise<HTTP2Response>
    var deadline: Scheduled<Void>?
    var status = 0
    var body = ByteBuffer()
    var isEnded = false
    var failure: HTTP2ClientError?

    /// Fails the waiting caller.
    func fail(_ error: HTTP2ClientError) {
        deadline?.cancel()
        promise.fail(error)
    }
}
