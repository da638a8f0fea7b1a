import NIOCore
import NIOSSL
import Testing

@testable import Connections

@Suite struct ConnectionFailureTests {
    @Test(arguments: [BoringSSLError.zeroReturn, .syscallError, .noError, .wantRead])
    func `A handshake that ends without a reason is logged without the libraries' names`(_ error: BoringSSLError) {
        let cause = ConnectionFailure.cause(of: NIOSSLError.handshakeFailed(error))
        #expect(cause == ConnectionFailure.endedInHandshake)
    }
}
