import NIOCore

/// One request under way, and who waits for what of it.
struct ClientExchange {
    enum Reader {
        case whole(EventLoopPromise<HTTP2Response>)
        case streamed(EventLoopPromise<HTTP2StreamingResponse>)
    }

    let reader: Reader
    var deadline: Scheduled<Void>?
    var status = 0
    var headers: [String: String] = [:]
    var body = ByteBuffer()
    var source: HTTP2StreamingResponse.Body.Source?
    var isEnded = false
    var failure: HTTP2ClientError?

    /// Fails whoever waits.
    func fail(_ error: HTTP2ClientError) {
        deadline?.cancel()
        switch reader {
        case .whole(let promise): promise.fail(error)
        case .streamed(let promise): promise.fail(error)
        }
        source?.finish(error)
    }
}
