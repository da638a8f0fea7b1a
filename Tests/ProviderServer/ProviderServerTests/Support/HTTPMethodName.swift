import NIOHTTP1

extension InstallationTests.HTTPMethodName {
    var http: HTTPMethod {
        switch self {
        case .get: .GET
        case .put: .PUT
        case .patch: .PATCH
        case .delete: .DELETE
        }
    }
}
