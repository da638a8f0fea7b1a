import Delivery
import Notifications

// Requests whose app has an upstream. The upstream judges the device token; everything else is checked as always.
extension RequestRules {
    /// Checks the headers of a request whose app has an upstream in this environment.
    /// - Returns: nil if the app has none. Then nothing was checked.
    func forwarding(of request: ProviderRequest) throws(Rejection) -> ForwardedRequest? {
        guard case .value(let topic) = request.topic, let app = topic.app,
            let upstream = topic.upstream(in: environment)
        else { return nil }
        try make(RequestCheck.ofShape, of: request)
        try make(RequestCheck.ofSender, of: request)
        let refusal = try checkForm(request, comparing: upstream)
        let forwarded = ForwardedRequest(
            upstream: upstream, topic: topic, app: app, token: try deviceToken(of: request.path))
        forwarded.refusal = refusal
        return forwarded
    }

    /// Checks the values of the headers, and the topic.
    /// - Parameter upstream: where the request goes; nil if its notification is delivered here.
    /// - Returns: the refusal, if the upstream compares its answer with it; nil if nothing is wrong.
    func checkForm(_ request: ProviderRequest, comparing upstream: AppUpstream?) throws(Rejection) -> Rejection? {
        do throws(Rejection) {
            try make(RequestCheck.ofForm, of: request)
            return nil
        } catch {
            guard let upstream, upstream.compares, request.topic.present != nil else { throw error }
            // Whether the sender may send to the app binds always.
            try make([.app], of: request)
            return error
        }
    }

    /// The bytes of a device token, which only the upstream can read.
    private func deviceToken(of path: ProviderRequest.Path) throws(Rejection) -> [UInt8] {
        switch path {
        case .deviceToken(let token): return token.array
        case .otherDeviceToken(let token): return token
        case .badDeviceToken(let detail): throw Rejection(.badDeviceToken, detail: detail)
        case .bad, .withoutDeviceToken, .broadcast: throw Rejection(.missingDeviceToken)
        }
    }
}
