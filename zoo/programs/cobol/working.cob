      *> Data that stay from call to call.
       IDENTIFICATION DIVISION.
       PROGRAM-ID. WORKING.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       01  BYTES                   PIC X(3000000).
       PROCEDURE DIVISION.
       MAIN-LINE.
           MOVE ALL "AB" TO BYTES.
           DISPLAY BYTES (1:4).
           STOP RUN.
