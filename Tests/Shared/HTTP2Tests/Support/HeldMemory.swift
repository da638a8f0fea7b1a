#if os(Linux)
    import Foundation

    @testable import Connections
    @testable import HTTP2
    @testable import HTTP2Core

    /// The number of resident pages of a piece of memory (mincore(2)).
    func pagesInMemory(_ address: UInt, _ bytes: Int) -> Int {
        let page = sysconf(Int32(_SC_PAGESIZE))
        var held = [UInt8](repeating: 0, count: (bytes + page - 1) / page)
        guard mincore(UnsafeMutableRawPointer(bitPattern: address), bytes, &held) == 0 else { return -1 }
        return held.count { $0 & 1 == 1 }
    }

    extension HTTP2Session {
        /// The memory that only reading and writing need: the resident pages of libnghttp2's frame buffer, or the room
        /// in the buffers of `HTTP2Core`. -1 if the session cannot release any.
        var heldMemory: Int {
            if let session = self as? CoreSession { return session.heldCapacity }
            guard let memory = (self as? LibrarySession)?.memory, let frame = memory.frame else { return -1 }
            return pagesInMemory(UInt(bitPattern: frame), memory.frameCount)
        }
    }

    extension CoreSession {
        /// The capacity of all buffers that are not the dynamic tables.
        fileprivate var heldCapacity: Int {
            endpoint.pending.capacity + endpoint.writer.bytes.capacity + endpoint.scratch.capacity
                + endpoint.fields.bytes.capacity + endpoint.fields.entries.capacity + endpoint.streams.capacity
                + (endpoint.block?.bytes.capacity ?? 0) + unsentBodies.capacity
        }
    }
#endif
