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
        /// The capacity of the buffers that only reading and writing need.
        var heldMemory: Int {
            endpoint.pending.capacity + endpoint.writer.bytes.capacity + endpoint.scratch.capacity
                + endpoint.fields.bytes.capacity + endpoint.fields.entries.capacity + endpoint.streams.capacity
                + (endpoint.block?.bytes.capacity ?? 0) + unsentBodies.capacity
                + endpoint.decoder.knownCapacity + endpoint.decoder.scratchCapacity
        }

        /// The capacity of the dynamic tables.
        var tableMemory: Int { endpoint.decoder.tableCapacity + endpoint.encoder.tableCapacity }
    }

    extension FieldList {
        /// An answer with a field that enters the table.
        static var tabled: FieldList {
            var block = FieldList.status("200")
            block.append("a", "b")
            return block
        }
    }
#endif
