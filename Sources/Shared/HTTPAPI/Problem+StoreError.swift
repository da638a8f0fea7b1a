package import Storage

extension Problem {
    /// The problem for an error of the store.
    /// - Parameter isNamedInPath: whether the path names what the request is about. If the body names it, its absence is a
    ///   conflict.
    package init(_ error: StoreError, isNamedInPath: Bool = true) {
        let status =
            switch error.code {
            case .missing: isNamedInPath ? 404 : 409
            case .exists, .conflict, .ended, .revoked: 409
            case .unknown, .unavailable, .locked, .unreadable: 503
            }
        self.init(status, error.cause)
    }
}
